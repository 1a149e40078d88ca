// What `expect` says to the times of a call: each question passed and failed.

import Basics
import CallEngine
import FlowEngine
import Testing

@Suite struct TimingCheckTests {
    private func info(_ change: (inout CallInfo) -> Void) -> CallInfo {
        var info = CallInfo(id: "1", direction: .outbound, from: CallParty(uri: ""), to: CallParty(uri: ""), started: .zero)
        change(&info)
        return info
    }

    @Test func theDelayIsThatToTheFirstSign() {
        let check = TimingCheck.postDialDelay(.seconds(3))
        #expect(check.name == "rings within 3s")
        #expect(check.verdict(on: info { _ in }, at: .zero) == (false, "it has not rung"))
        #expect(check.verdict(on: info { $0.timings.ringing = .milliseconds(2900) }, at: .zero) == (true, "2900 ms"))
        #expect(check.verdict(on: info { $0.timings.firstMedia = .milliseconds(3100) }, at: .zero) == (false, "3100 ms"))
        let early = info { ($0.timings.ringing, $0.timings.answer) = (.milliseconds(3500), .milliseconds(20)) }
        #expect(check.verdict(on: early, at: .zero) == (true, "20 ms"))
    }

    @Test func theLengthBeginsWithTheAnswer() throws {
        let check = try #require(TimingCheck.range("10s..20s"))
        #expect(check.name == "lasts 10s to 20s")
        #expect(check.verdict(on: info { _ in }, at: .zero + .seconds(15)) == (false, "it was not answered"))
        let answered = info { $0.answered = .zero + .seconds(5) }
        #expect(check.verdict(on: answered, at: .zero + .seconds(14)) == (false, "9000 ms"))
        #expect(check.verdict(on: answered, at: .zero + .seconds(15)) == (true, "10s"))
        #expect(check.verdict(on: answered, at: .zero + .seconds(26)) == (false, "21s"))
        let over = info { ($0.answered, $0.ended) = (.zero, .zero + .seconds(12)) }
        #expect(check.verdict(on: over, at: .zero + .seconds(99)) == (true, "12s"))
    }

    @Test func rangesAreReadOrRefused() {
        #expect(TimingCheck.range("..20s") == .duration(least: nil, most: .seconds(20)))
        #expect(TimingCheck.range("1m..") == .duration(least: .seconds(60), most: nil))
        for text in ["..", "10s", "20s..10s", "a..b", "1s .. x", ""] { #expect(TimingCheck.range(text) == nil, "\(text)") }
    }

    private static func flow(_ expectation: String, then: String = "hangup") -> String {
        "flow: f\ndirection: outbound\nsections:\n  start:\n    - expect: \(expectation)\n    - \(then)\n"
    }

    @Test func theyAreReadFromFlows() {
        func finding(_ expectation: String) -> String? {
            FlowLoader.load(text: Self.flow(expectation), file: "f").diagnostics.first { $0.severity == .error }?.description
        }
        for good in ["{ answered: never, within: 5s }", "{ pdd: 3s }", "{ duration: 10s..20s }", "{ duration: ..1m }"] {
            #expect(finding(good) == nil)
        }
        let words = "`duration` is a range, not `10s`; write 10s..20s, 10s.. or ..20s"
        #expect(finding("{ duration: 10s }")?.contains(words) == true)
    }

    @Test(arguments: [
        ("answers, { waits: 9s }", "{ answered: never, within: 3s }", "false answered already"),
        ("rings, { waits: 9s }", "{ answered: never, within: 3s }", "true no answer within 3s"),
        ("rings, { waits: 1s }, answers, { waits: 9s }", "{ answered: 5s, pdd: 2s, duration: ..1s }", "true 0 ms")
    ]) func theyAreAskedOfACall(callee: String, expectation: String, logged: String) throws {
        try runCases(
            Self.flow(expectation, then: "log: \"${result.passed} ${result.actual}\"")
                + "    - hangup\ncases: [ { name: x, callee: [ \(callee) ], expect: [ { logged: \"\(logged)\" } ] } ]\n")
    }
}
