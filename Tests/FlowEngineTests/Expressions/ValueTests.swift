// Values outside expressions: maps, JSON both ways, durations of flows, nearest words.
import FlowEngine
import Testing

@Suite struct ValueTests {
    private static let readable: [(String, Value)] = [
        ("null", Value.null), ("true", true), ("-0", 0), ("12", 12), ("1.0", 1.0), ("1e2", 100.0),
        ("9223372036854775807", .int(.max)),
        ("18446744073709551615", .uint(.max)), ("\"a\"", "a"), ("[]", []), ("{}", [:]), (" [ 1 , \"a\" ] ", [1, "a"]),
        ("{\"a\":{\"b\":[null]}}", ["a": ["b": [.null]]]), ("\"\\u00e9\\n\\ud83d\\ude00\\/\"", "é\n😀/"),
        ("\"\\ud83dx\"", "\u{FFFD}x"),
        ("{\"a\":1,\"a\":2}", ["a": 2]), ("\"é\"", "é")
    ]

    @Test(arguments: readable)
    func jsonIsRead(_ text: String, _ wanted: Value) throws {
        let value = try Value.fromJSON(text)
        #expect(value == wanted)
        #expect(value.type == wanted.type)
        #expect(try Value.fromJSON(value.json) == value)
    }

    @Test(arguments: [
        ("", 0), ("nul", 0), ("01", 0), ("1.", 2), ("1e", 2), ("-", 0), ("+1", 0), ("[1,]", 3), ("[1", 2), ("{\"a\"}", 4),
        ("{a:1}", 1),
        ("\"a", 2), ("\"\\x\"", 2), ("\"\u{1}\"", 1), ("1 2", 2), ("\"\\u12g4\"", 5), ("{\"a\":1,}", 7), ("NaN", 0), ("'a'", 0)
    ])
    func badJSONHasAPlace(_ text: String, _ offset: Int) {
        #expect { try Value.fromJSON(text) } throws: { ($0 as? JSONProblem)?.offset == offset }
    }

    @Test func jsonIsBounded() {
        #expect(throws: JSONProblem.self) { try Value.fromJSON(String(repeating: "[", count: 100_000)) }
        #expect(throws: JSONProblem.self) { try Value.fromJSON([0x22, 0xFF, 0x22]) }
        #expect(throws: Never.self) {
            try Value.fromJSON(String(repeating: "[", count: 64) + String(repeating: "]", count: 64))
        }
    }

    private static let writable: [(Value, String)] = [
        (Value.null, "null"), (.double(.nan), "\"NaN\""), (1.5, "1.5"), (2.0, "2"), ("a\"\\\n\u{1}", "\"a\\\"\\\\\\n\\u0001\""),
        (.bytes([1, 2, 3]), "\"AQID\""), (.duration(.seconds(90)), "\"1m30s\""),
        (.timestamp(Timestamp(seconds: 0)), "\"1970-01-01T00:00:00Z\""),
        (.optional(nil), "null"), (.optional(.int(1)), "1"), (["b": 1, "a": [true]], "{\"b\":1,\"a\":[true]}"),
        (.type(.int), "\"int\"")
    ]

    @Test(arguments: writable)
    func jsonIsWritten(_ value: Value, _ wanted: String) {
        #expect(value.json == wanted)
    }

    @Test func mapsKeepOrderAndFindNumbersOfEveryType() {
        var map = ValueMap()
        for number in 0..<40 { map.set(.int(Int64(number * 2)), for: .int(Int64(39 - number))) }
        #expect(map.count == 40)
        #expect(map.entries.first?.key == 39)
        #expect(map[.uint(7)] == 64)
        #expect(map[.double(7)] == 64)
        #expect(map[.double(7.5)] == nil)
        map.set("new", for: .uint(7))
        #expect(map.count == 40)
        #expect(map[.int(7)] == "new")
        let refused = [map.set(1, for: .double(1)), map.set(1, for: .null)]
        #expect(refused == [false, false])
        map["name"] = 5
        #expect(map["name"] == 5)
    }

    @Test(arguments: [
        ("0s", 0), ("300ms", 300), ("5s", 5000), ("2m", 120_000), ("1h30m", 5_400_000), ("1h1m1s1ms", 3_661_001),
        ("90m", 5_400_000),
        ("87600h", 315_360_000_000)
    ])
    func durationsOfFlows(_ text: String, _ milliseconds: Int64) throws {
        #expect(try FlowDuration.parse(text) == .milliseconds(milliseconds))
    }

    @Test(arguments: [
        ("", "missing"), ("5", "write 5s"), ("5 s", "space"), ("1.5s", "1s500ms"), ("-5s", "negative"), ("5sec", "write s"),
        ("2 minutes", "space"), ("1d", "24h"), ("30s1m", "out of order"), ("1s1s", "out of order"), ("5S", "write s"),
        ("abc", "such as"),
        ("h", "write h"), ("99999999999999999999h", "ten years"), ("87601h", "ten years"), ("5x", "such as"), ("1h30", "no unit"),
        ("٣s", "such as")
    ])
    func badDurationsSayTheMend(_ text: String, _ part: String) {
        #expect { try FlowDuration.parse(text) } throws: { ($0 as? FlowDuration.Problem)?.message.contains(part) == true }
    }

    @Test(arguments: [
        (Duration.zero, "0s"), (.milliseconds(1), "1ms"), (.milliseconds(1500), "1s500ms"), (.seconds(90), "1m30s"),
        (.seconds(3600), "1h"),
        (.seconds(90_061), "25h1m1s"), (.zero - .seconds(5), "-5s"), (.microseconds(1500), "1.5ms"),
        (.nanoseconds(1), "0.000001ms")
    ])
    func durationsPrint(_ duration: Duration, _ wanted: String) {
        #expect(FlowDuration.print(duration) == wanted)
    }

    @Test func printedDurationsParseAgain() throws {
        for milliseconds in stride(from: Int64(0), to: 100_000_000, by: 777_777) {
            let duration = Duration.milliseconds(milliseconds)
            #expect(try FlowDuration.parse(FlowDuration.print(duration)) == duration)
        }
    }

    @Test(arguments: [
        ("goot", "goto"), ("colect", "collect"), ("plya", "play"), ("recrod", "record"), ("Answer", "answer"), ("xyzzy", ""),
        ("a", ""),
        ("hang-up", "hangup"), ("first_digit", "first-digit"), ("play", ""), ("q", ""), ("", "")
    ])
    func nearestWords(_ word: String, _ wanted: String) {
        let known = ["answer", "collect", "first-digit", "goto", "hangup", "play", "record", "ring", "switch"]
        let found = NearestWord.find(word, in: known.filter { $0 != word })
        #expect((found ?? "") == wanted)
    }

    @Test func timestampsGoThroughTextUnchanged() throws {
        for seconds in stride(from: Int64(-62_135_596_800), to: 253_402_300_799, by: 9_876_543_211) {
            let time = Timestamp(seconds: seconds, nanoseconds: 120)
            #expect(Timestamp(rfc3339: time.rfc3339) == time)
        }
        #expect(Timestamp(secondsSince1970: -0.5).rfc3339 == "1969-12-31T23:59:59.5Z")
    }
}
