import Basics
import CallEngine
import Testing

@Suite struct LadderTests {
    let ladder = Ladder(["caller", "reception"], start: .zero + .seconds(5))

    @Test func everyLineHasBothSidesAtTheSamePlace() {
        let lines = [
            ladder.message("INVITE sip:reception@192.0.2.1", from: 0, to: 1, at: .zero + .seconds(5)),
            ladder.message("180 Ringing", from: 1, to: 0, at: .zero + .milliseconds(5012)),
            ladder.message(String(repeating: "x", count: 300), from: 1, to: 0, at: .zero + .seconds(6)),
            ladder.note("hears speech", on: 0, at: .zero + .seconds(7)),
            ladder.note("plays welcome.wav", on: 1, at: .zero + .seconds(7)),
            ladder.message("486 Busy\u{1B}[31m\u{7}", from: 1, to: 0, at: .zero + .seconds(8)),
            ladder.note("log: \u{1B}[2J", on: 1, at: .zero + .seconds(8))
        ]
        for line in lines {
            let bars = line.enumerated().filter { $0.element == "│" }.map(\.offset)
            #expect(bars == [4, 51], "\(line)")
        }
        #expect(lines[1].hasSuffix("0.012 s"))
        // The words of others do not steer the terminal that shows them.
        #expect(lines[5].contains(#"486 Busy\u{1b}[31m\u{7}"#) && lines[6].contains(#"log: \u{1b}[2J"#))
    }

    @Test func labels() {
        #expect(Ladder.label(of: Array("INVITE sip:a@b SIP/2.0\r\nVia: x\r\n\r\n".utf8)) == "INVITE sip:a@b")
        #expect(Ladder.label(of: Array("SIP/2.0 404 Not Found\r\n\r\n".utf8)) == "404 Not Found")
        #expect(Ladder.label(of: Array("SIP/2.0 100 \r\n\r\n".utf8)) == "100 ")
        #expect(Ladder.label(of: []) == "(unreadable)")
    }
}
