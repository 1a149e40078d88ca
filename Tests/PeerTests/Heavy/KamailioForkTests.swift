// Kamailio in front of several engines: forks in parallel and in sequence, and balances a load over them.

import CallEngine
import TestKit
import Testing

@Suite("kamailio, forks and balance", .serialized, HeavyPeer.kamailio.isWanted)
struct KamailioForkTests {
    @Test(
        "a parallel fork: the one that answers has the call, the other is cancelled; the early media of a loser is not kept",
        arguments: [false, true])
    func parallel(_ earlyMedia: Bool) throws {
        let folder = try TemporaryFolder()
        let heard = folder.path("heard.wav")
        let loser = try EngineUnderTest { call, _ in
            if earlyMedia {
                try call.progress()
                try await call.say("hold-music")
            } else {
                try call.ring()
            }
            try await call.stay(.seconds(10))
        }
        defer { loser.close() }
        let winner = try EngineUnderTest { call, notes in
            try call.ring()
            try await call.stay(.milliseconds(700))
            try await call.answer()
            try await call.stay(.milliseconds(100))
            try await call.say("welcome")
            notes.add(try await call.keys(1))
            try await call.stay(.milliseconds(300))
            try await call.hold(music: nil)
            notes.add("held")
        }
        defer { winner.close() }
        let kamailio = try Kamailio(first: loser.uri("loser"), second: winner.uri("winner", .tcp))
        defer { kamailio.stop() }
        let caller = try EngineUnderTest(lines: [kamailio.line(.udp)])
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:fork@ringwright.test", line: "proxy")) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try call.startRecording(heard, notes: notes)
            try await call.stay(.milliseconds(2200))
            try await call.sendDigits("5", options: SendDigitsOptions(method: .rfc4733))
            try await call.stay(.seconds(10))
        }
        let report = try #require(caller.reports(1).first, "\(kamailio.output)")
        #expect(report.end == CallEnd(by: .callee, cause: .normal))
        #expect(report.notes == ["reached"])
        try SippMediaTests.expectHeard("welcome", in: report)
        let won = try #require(winner.reports(1).first)
        #expect(won.end == CallEnd(by: .callee, cause: .normal))
        #expect(won.notes == ["5", "held"])
        let lost = try #require(loser.reports(1).first)
        #expect(lost.end.by == .caller && lost.end.cause == .cancelled)
        #expect(lost.end.detail.contains("Call completed elsewhere"))
        #expect(loser.messages.contains { !$0.sent && $0.text.hasPrefix("CANCEL") })
        #expect(!winner.messages.contains { $0.text.hasPrefix("CANCEL") })
    }

    @Test("both answer at the same time: one call stays, the other is ended")
    func bothAnswer() throws {
        let flow: TestFlow = { call, notes in
            try await call.answer()
            try await call.stay(.milliseconds(1500))
            notes.add("stayed")
            try await call.stay(.seconds(10))
        }
        let callees = [try EngineUnderTest(flow: flow), try EngineUnderTest(flow: flow)]
        defer { for callee in callees { callee.close() } }
        let kamailio = try Kamailio(first: callees[0].uri("a"), second: callees[1].uri("b"))
        defer { kamailio.stop() }
        let caller = try EngineUnderTest(lines: [kamailio.line(.udp)])
        defer { caller.close() }
        for count in 1...5 {
            caller.call(CallRequest(target: "sip:fork@ringwright.test", line: "proxy")) { call, notes in
                notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
                try await call.stay(.seconds(2))
            }
            let report = try #require(caller.reports(count).last, "\(kamailio.output)")
            #expect(report.end == CallEnd(by: .caller, cause: .normal))
            let ends = callees.flatMap { $0.reports(count, within: .seconds(2)) }
            #expect(ends.count == 2 * count)
            #expect(ends.filter { $0.notes == ["stayed"] }.count == count)
        }
    }

    @Test("the first is busy, so the proxy calls the second: the caller learns only of the answer")
    func hunt() throws {
        let busy = try EngineUnderTest { call, _ in try call.reject(status: 486, reason: nil, headers: []) }
        defer { busy.close() }
        let free = try EngineUnderTest(flow: KamailioTests.answersShortly)
        defer { free.close() }
        let kamailio = try Kamailio(first: busy.uri("a"), second: free.uri("b"))
        defer { kamailio.stop() }
        let caller = try EngineUnderTest(lines: [kamailio.line(.tcp)])
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:hunt@ringwright.test", line: "proxy"), flow: KamailioTests.talks)
        let report = try #require(caller.reports(1).first, "\(kamailio.output)")
        #expect(report.end == CallEnd(by: .callee, cause: .normal))
        #expect(busy.reports(1).first?.end == CallEnd(by: .callee, cause: .busy))
        #expect(free.reports(1).count == 1)
    }

    @Test("a load over three: two take turns, and one that is full sends its calls on with 503")
    func balance() throws {
        let callees = [
            try EngineUnderTest(flow: KamailioTests.answersShortly), try EngineUnderTest(flow: KamailioTests.answersShortly),
            try EngineUnderTest(limits: Admission.Limits(calls: 0), flow: KamailioTests.answersShortly)
        ]
        defer { for callee in callees { callee.close() } }
        let kamailio = try Kamailio(first: "sip:nobody@127.0.0.1:9", targets: callees.map { $0.uri("farm") })
        defer { kamailio.stop() }
        // Its OPTIONS find them alive; a full one too.
        #expect(callees.allSatisfy { callee in callee.wait(.seconds(5)) { !callee.messages.isEmpty } }, "\(kamailio.output)")
        let caller = try EngineUnderTest(lines: [kamailio.line(.udp)])
        defer { caller.close() }
        for _ in 0..<12 {
            caller.call(CallRequest(target: "sip:balance@ringwright.test", line: "proxy"), flow: KamailioTests.talks)
        }
        let reports = caller.reports(12)
        #expect(reports.count == 12, "\(kamailio.output)")
        #expect(reports.allSatisfy { $0.end == CallEnd(by: .callee, cause: .normal) })
        let answered = callees.map { $0.engine.callCounters.answered }
        #expect(answered.reduce(0, +) == 12)
        #expect(answered[0] >= 4 && answered[1] >= 4 && answered[2] == 0, "\(answered)")
        let refusals = callees[2].messages.filter { $0.sent && $0.text.hasPrefix("SIP/2.0 503") }
        #expect(!refusals.isEmpty && refusals.allSatisfy { $0.text.contains("Retry-After: ") })
        #expect(kamailio.wait { $0.decisions("tries").count >= refusals.count })
        for callee in callees {
            let pings = callee.messages.filter { !$0.sent && $0.text.hasPrefix("OPTIONS") }
            #expect(!pings.isEmpty)
            #expect(callee.messages.contains { $0.sent && $0.text.hasPrefix("SIP/2.0 200") && $0.text.contains("OPTIONS") })
        }
    }

    @Test("one of two servers goes down: new calls go to the other, and the proxy sees it come to nothing by OPTIONS")
    func drained() throws {
        let callees = [
            try EngineUnderTest(flow: KamailioTests.answersShortly), try EngineUnderTest(flow: KamailioTests.answersShortly)
        ]
        defer { callees[1].close() }
        let kamailio = try Kamailio(first: "sip:nobody@127.0.0.1:9", targets: callees.map { $0.uri("farm") })
        defer { kamailio.stop() }
        #expect(callees.allSatisfy { callee in callee.wait(.seconds(5)) { !callee.messages.isEmpty } }, "\(kamailio.output)")
        let caller = try EngineUnderTest(lines: [kamailio.line(.udp)])
        defer { caller.close() }
        func place(_ count: Int, total: Int) {
            for _ in 0..<count {
                caller.call(CallRequest(target: "sip:balance@ringwright.test", line: "proxy"), flow: KamailioTests.talks)
            }
            let reports = caller.reports(total)
            #expect(reports.count == total, "\(kamailio.output)")
            #expect(reports.allSatisfy { $0.end == CallEnd(by: .callee, cause: .normal) }, "\(reports.map(\.end))")
        }
        callees[0].engine.drain()
        place(6, total: 6)
        #expect(callees[0].engine.callCounters.answered == 0)
        callees[0].close()
        place(6, total: 12)
        #expect(callees[1].engine.callCounters.answered == 12)
    }
}
