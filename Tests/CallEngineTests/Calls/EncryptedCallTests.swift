// Whole calls with SRTP: each policy against each, what is refused and what follows, keys that never show.

import Basics
import CallEngine
import Reactor
import SDP
import TestKit
import Testing

@Suite struct EncryptedCallTests {
    private let suite = "AES_CM_128_HMAC_SHA1_80"

    /// What comes of a call for 2 s: its final status, the suite of both sides, and how many INVITEs it took.
    private func outcome(
        _ caller: MediaSecurity, _ callee: MediaSecurity
    ) throws -> (status: Int, srtp: [String], received: UInt64, invites: Int, detail: String) {
        let world = VirtualWorld(seed: 21)
        var answered: Call?
        let traced = Locked<[TracedMessage]>([])
        _ = try world.engine(
            at: "192.0.2.1", settings: { $0.security = callee },
            onIncoming: { call in
                answered = call
                call.loop.spawn { try? await call.answer() }
            })
        let callers = try world.engine(
            at: "192.0.2.2", settings: { $0.security = caller }, trace: { message in traced.withLock { $0.append(message) } })
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        var end: CallEnd?
        call.onEnd = { end = $0 }
        world.loop.run(for: .seconds(2))
        let suites = [call.info.media.srtp, answered?.info.media.srtp ?? ""]
        let received = call.info.media.received
        call.hangUp(.normal)
        #expect(world.finish() == [])
        let texts = traced.withLock { $0 }.map { String(decoding: $0.bytes, as: UTF8.self) }
        return (
            call.info.sipStatus, suites, received, texts.filter { $0.hasPrefix("INVITE") }.count, end?.detail ?? ""
        )
    }

    @Test(
        "each policy against each",
        arguments: [
            (MediaSecurity.off, MediaSecurity.off, 200, false, 1), (.off, .accepted, 200, false, 1),
            (.off, .offered, 200, false, 1),
            (.off, .required, 488, false, 1), (.accepted, .off, 200, false, 1), (.accepted, .accepted, 200, false, 1),
            (.accepted, .required, 488, false, 1), (.offered, .off, 200, false, 2), (.offered, .accepted, 200, true, 1),
            (.offered, .offered, 200, true, 1), (.offered, .required, 200, true, 1), (.required, .off, 488, false, 1),
            (.required, .accepted, 200, true, 1), (.required, .required, 200, true, 1)
        ]) func policies(caller: MediaSecurity, callee: MediaSecurity, status: Int, isSecure: Bool, invites: Int) throws
    {
        let outcome = try outcome(caller, callee)
        #expect(outcome.status == status)
        #expect(outcome.invites == invites, "INVITEs")
        #expect(outcome.srtp == (isSecure ? [suite, suite] : ["", ""]))
        if status == 200 { #expect(outcome.received > 80) }
    }

    @Test("an encrypted INVITE still fits into a datagram") func size() throws {
        let world = VirtualWorld(seed: 22)
        let counted = Locked<[Int]>([])
        _ = try world.engine(at: "192.0.2.1") { call in call.hangUp(HangUpReason(status: 486)) }
        let callers = try world.engine(
            at: "192.0.2.2", settings: { $0.security = .required },
            trace: { message in counted.withLock { $0.append(message.bytes.count) } })
        _ = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(2))
        let sizes = counted.withLock { $0 }
        #expect(try #require(sizes.first) <= 1300, "\(sizes)")
        #expect(world.finish() == [])
    }

    @Test("a hold and its end by either side keep the stream encrypted") func hold() throws {
        let world = VirtualWorld(seed: 23)
        var answered: Call?
        _ = try world.engine(at: "192.0.2.1") { call in
            answered = call
            call.loop.spawn { try? await call.answer() }
        }
        let callers = try world.engine(at: "192.0.2.2", settings: { $0.security = .required })
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        var errors: [String] = []
        for side in [call, try #require(answered)] {
            world.loop.spawn {
                do {
                    try await side.hold(music: nil)
                    try await side.unhold()
                } catch {
                    errors.append("\(error)")
                }
            }
            world.loop.run(for: .seconds(2))
        }
        #expect(errors == [])
        #expect(call.info.media.srtp == suite && answered?.info.media.srtp == suite)
        #expect(call.info.media.lost == 0 && call.info.media.received > 200)
        call.hangUp(.normal)
        #expect(world.finish() == [])
        #expect(callers.mediaCounters.droppedUnauthentic == 0)
    }

    @Test("an encrypted call to a line's policy, a bridge to a plain one") func byLine() throws {
        let world = VirtualWorld(seed: 24)
        _ = try world.engine(
            at: "192.0.2.1", settings: { $0.security = .off },
            onIncoming: { call in
                call.loop.spawn { try? await call.answer() }
            })
        var line = LineSettings(name: "plain", server: "192.0.2.1")
        line.security = .off
        let middle = try world.engine(
            at: "192.0.2.3",
            settings: {
                $0.security = .required; $0.lines = [line]
            },
            onIncoming: { call in
                let task = call.loop.spawn {
                    try? await call.answer()
                    _ = try? await call.bridge(BridgeRequest(targets: ["line:plain/bot"]))
                }
                call.onEnd = { _ in task.cancel() }
            })
        let callers = try world.engine(at: "192.0.2.2", settings: { $0.security = .required })
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.3"))
        world.loop.run(for: .seconds(3))
        #expect(call.info.media.srtp == suite)
        #expect(middle.callCounters.outgoing == 1 && middle.mediaCounters.packetsForwarded > 100)
        call.hangUp(.normal)
        #expect(world.finish() == [])
    }
}
