// Three phones of different codecs in one conference: each hears the two others, and never itself.

import Audio
import Basics
import CallEngine
import Reactor
import TestKit
import Testing

@Suite("a conference of baresips", .serialized, .enabled(if: Baresip.isInstalled, "baresip is not installed"))
struct ConferencePeerTests {
    /// Calls that wait until all have come, each on its loop.
    private final class Door: Sendable {
        private let waiting = Locked<[LoopBound<Waiter<Void>>]>([])
        private let count: Int

        init(for count: Int) { self.count = count }

        func pass(_ call: Call) async throws {
            let mine = Waiter<Void>()
            let bound = LoopBound(mine, on: call.loop)
            let all = waiting.withLock { waiting in
                waiting.append(bound)
                return waiting.count == count ? waiting : []
            }
            for one in all { one.run { $0.resume(returning: ()) } }
            try await mine.wait()
        }
    }

    @Test("three callers of G.711, G.722 and Opus hear each other")
    func threeCallers() throws {
        let door = Door(for: 3)
        let engine = try EngineUnderTest(loops: 2, codecs: ["opus", "g722", "pcmu"]) { call, notes in
            try await door.pass(call)
            try await call.answer()
            var request = ConferenceRequest(room: "peers")
            request.joinTone = false
            let part = try call.join(request)
            // The last of them has spoken after ten seconds.
            try await call.stay(.seconds(11))
            notes.add("\(part.state?.members ?? 0)")
            part.leave()
        }
        defer { engine.close() }
        let uri = "sip:ivr@127.0.0.1:\(engine.udpPort)"
        let said = ["probe", "welcome", "menu-short"]
        let phones = try zip(said, ["pcmu", "G722/16000/1", "opus/48000/2"]).enumerated().map { index, phone in
            try Baresip(speaking: phone.0, after: .seconds(1 + index * 3), room: .seconds(16), codec: phone.1, dial: uri)
        }
        let reports = engine.reports(3, within: .seconds(22))
        #expect(reports.compactMap(\.error) == [] && reports.map(\.notes.count) == [1, 1, 1], "\(phones.map(\.output))")
        #expect(Set(reports.map(\.info.codec)) == ["PCMU/8000", "G722/8000", "opus/48000/2"])
        for (index, phone) in phones.enumerated() {
            let heard = phone.stopAndListen()
            for other in said where other != said[index] { expectHeard(other, in: heard, not: said[index], least: 0.8) }
        }
    }
}
