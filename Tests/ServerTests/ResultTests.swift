// What results and figures look like: scripts read them.

import Basics
import CallEngine
import FlowEngine
import Server
import Testing

@Suite struct CallResultTests {
    static func info(answered: Bool = true) -> CallInfo {
        var info = CallInfo(
            id: "3f9c", direction: .outbound, from: CallParty(uri: "sip:bot@127.0.0.1"),
            to: CallParty(uri: "sip:1000@127.0.0.1:5060"),
            started: .zero + .seconds(1))
        info.sipStatus = 200
        info.sipReason = "OK"
        info.codec = "PCMU/8000"
        info.timings.trying = .microseconds(1200)
        info.timings.ringing = .microseconds(40_100)
        info.timings.firstMedia = .milliseconds(80)
        info.timings.answer = .microseconds(2_041_700)
        if answered { info.answered = .zero + .seconds(3) }
        info.ended = .zero + .milliseconds(13_034)
        info.media.sent = 600
        info.media.received = 598
        info.media.lost = 2
        info.media.jitter = .microseconds(400)
        info.media.roundTrip = .microseconds(200)
        info.media.maximumJitter = .microseconds(1100)
        info.media.remote = RemoteReception(lost: 0, jitter: .microseconds(300), score: 4.4)
        return info
    }

    @Test func theJSONOfTheDocumentation() {
        let result = CallResult(
            info: Self.info(), end: CallEnd(by: .caller, cause: .normal), target: "sip:1000@127.0.0.1:5060", flow: "caller",
            digitsSent: "1", expectations: [.init(name: "hears speech", passed: true, actual: "after 312 ms")])
        #expect(
            result.json.text == """
                {"call":"3f9c","target":"sip:1000@127.0.0.1:5060","flow":"caller","result":"passed",\
                "sip":{"status":200,"reason":"OK"},\
                "ended":{"by":"caller","cause":"normal","detail":""},\
                "timings":{"trying_ms":1.2,"ringing_ms":40.1,"first_media_ms":80.0,"answer_ms":2041.7,"duration_ms":12034.0},\
                "media":{"codec":"PCMU/8000","srtp":"none","sent":600,"received":598,"lost":2,"late":0,"jitter_ms":0.4,"rtt_ms":0.2,"mos":4.49,\
                "worst_mos":null,"max_jitter_ms":1.1,"one_way":null,"clipped_start_ms":null,"remote":{"lost":0,"jitter_ms":0.3,"mos":4.4}},\
                "digits":{"sent":"1","received":""},\
                "expectations":[{"name":"hears speech","passed":true,"actual":"after 312 ms"}]}
                """)
    }

    @Test func whatDidNotHappenIsNull() {
        var info = CallInfo(
            id: "a", direction: .outbound, from: CallParty(uri: ""), to: CallParty(uri: ""), started: .zero)
        info.sipStatus = 486
        info.sipReason = "Busy \"Here\""
        let text = CallResult(info: info, end: CallEnd(by: .callee, cause: .busy), target: "sip:a@b", flow: "").json.text
        #expect(text.contains(#""result":"failed","sip":{"status":486,"reason":"Busy \"Here\""}"#))
        #expect(text.contains(#""trying_ms":null,"ringing_ms":null,"first_media_ms":null,"answer_ms":null,"duration_ms":null"#))
        #expect(
            text.contains(
                #""rtt_ms":null,"mos":null,"worst_mos":null,"max_jitter_ms":0.0,"one_way":null,"clipped_start_ms":null,"remote":null"#
            ))
    }

    @Test(arguments: [
        (CallEnd.Cause.normal, true, [], CallResult.Verdict.passed),
        (.normal, false, [], .failed),
        (.busy, false, [], .failed),
        (.mediaTimeout, true, [], .failed),
        (.error, true, [], .error),
        (.error, true, [true], .error),
        (.normal, true, [true, false], .failed),
        (.busy, false, [true], .passed)
    ])
    func verdicts(_ cause: CallEnd.Cause, _ answered: Bool, _ expectations: [Bool], _ verdict: CallResult.Verdict) {
        let result = CallResult(
            info: Self.info(answered: answered), end: CallEnd(by: .callee, cause: cause), target: "sip:a@b", flow: "",
            expectations: expectations.map { .init(name: "x", passed: $0, actual: "y") })
        #expect(result.verdict == verdict)
        #expect(result.exitStatus == (verdict == .passed ? .passed : .failed))
    }

    @Test func aCallThatWasCutShortDidNotPass() {
        var result = CallResult(
            info: Self.info(), end: CallEnd(by: .caller, cause: .cancelled), target: "sip:a@b", flow: "",
            expectations: [.init(name: "hears speech", passed: true, actual: "after 312 ms")])
        result.wasInterrupted = true
        #expect(result.verdict == .error)
        #expect(result.exitStatus == .failed)
    }

    @Test func theSummaryNamesWhatWentWrong() {
        let result = CallResult(
            info: Self.info(), end: CallEnd(by: .engine, cause: .mediaTimeout, detail: "no packet for 60 s"), target: "sip:a@b",
            flow: "",
            expectations: [.init(name: "hears tone", passed: false, actual: "silence")])
        #expect(
            result.summary.hasPrefix(
                "failed: sip:a@b: 200 OK\n  ended by engine: media-timeout (no packet for 60 s), after 12.0 s"))
        #expect(result.summary.hasSuffix("NOT as expected: hears tone: silence"))
    }
}

@Suite struct VoiceQualityTests {
    func score(received: UInt64 = 1000, lost: Int64 = 0, delay: Duration = .zero, codec: String = "PCMA/8000") -> Double? {
        var media = MediaReport()
        media.received = received
        media.lost = lost
        media.roundTrip = delay
        return VoiceQuality.meanOpinionScore(of: media, codec: codec)
    }

    @Test func lossAndDelayLowerIt() throws {
        let best = try #require(score())
        #expect((4.4...4.5).contains(best))
        let lossy = try #require(score(received: 950, lost: 50))
        let late = try #require(score(delay: .milliseconds(800)))
        let both = try #require(score(received: 950, lost: 50, delay: .milliseconds(800)))
        #expect(lossy < best && late < best && both < lossy && both < late)
        #expect(try #require(score(received: 1, lost: 1_000_000)) >= 1)
    }

    @Test func nothingHeardHasNoScore() {
        #expect(score(received: 0) == nil)
        #expect(score(codec: "telephone-event/8000") == nil)
    }
}

@Suite struct FiguresTests {
    @Test func metricsHaveEverySetOfLabelsFromTheStart() {
        var figures = ServerFigures(version: "1.0 \"x\"", startedAt: 1000.5)
        figures.callLimit = 5
        figures.ended = [.busy: 3]
        figures.lostPackets = 50
        figures.loops = [.init(name: "loop-0", busy: 1.25, turns: 7, pacedTurns: 3, lateTimers: 0.001, tasks: 2)]
        let lines = figures.metrics.split(separator: "\n").map(String.init)
        #expect(lines.contains(#"ringwright_info{version="1.0 \"x\""} 1"#))
        #expect(lines.contains("ringwright_start_time_seconds 1000.5"))
        #expect(lines.contains(#"ringwright_calls_ended_total{cause="busy"} 3"#))
        #expect(lines.contains(#"ringwright_calls_ended_total{cause="normal"} 0"#))
        #expect(lines.contains(#"ringwright_loop_busy_seconds_total{loop="loop-0"} 1.25"#))
        #expect(lines.contains("ringwright_rtp_packets_lost_total 50"))
        #expect(lines.contains(#"ringwright_rtp_packets_total{direction="sent"} 0"#))
        #expect(lines.contains(#"ringwright_rtp_dropped_total{reason="malformed"} 0"#))
        #expect(lines.contains(#"ringwright_calls_refused_total{limit="ports"} 0"#))
        #expect(lines.contains(#"ringwright_sip_problems_total{kind="malformed"} 0"#))
        // Each family is described once, before its samples, which stand together.
        var described: [Substring] = []
        for line in lines {
            if line.hasPrefix("# TYPE ") {
                described.append(line.split(separator: " ")[2])
            } else if !line.hasPrefix("#") {
                #expect(line.split(whereSeparator: { "{ ".contains($0) }).first == described.last, "\(line)")
            }
        }
        #expect(Set(described).count == described.count)
    }

    @Test(arguments: [(0, false, 200, "ready"), (5, false, 200, "full"), (1, true, 503, "draining")])
    func health(_ active: Int, _ draining: Bool, _ status: Int, _ word: String) {
        var figures = ServerFigures(version: "1", startedAt: 0)
        figures.callLimit = 5
        figures.activeCalls = active
        figures.isDraining = draining
        #expect(figures.health.status == status)
        #expect(figures.health.body == "{\"status\":\"\(word)\",\"version\":\"1\",\"calls\":\(active),\"limit\":5}\n")
    }
}
