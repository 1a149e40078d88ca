import Basics
import CallEngine
import Foundation
import Reactor
import TestKit
import Testing

/// Calls that are traced, in virtual time; what they leave is read from the disk.
@Suite struct CallTraceTests {
    /// A folder of its own, gone with the test.
    private final class TraceFolder {
        let path = NSTemporaryDirectory() + "ringwright-trace-\(UInt64.random(in: 0 ... .max))"
        deinit { try? FileManager.default.removeItem(atPath: path) }

        var calls: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
        func text(_ call: Int, _ name: String) throws -> String {
            try String(contentsOfFile: "\(path)/\(try #require(calls.dropFirst(call).first))/\(name)", encoding: .utf8)
        }
        func octets(_ call: Int, _ name: String) throws -> [UInt8] {
            Array(try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(try #require(calls.dropFirst(call).first))/\(name)")))
        }
    }

    private func answering(_ call: Call) {
        call.loop.spawn {
            try? call.ring()
            try? await call.answer()
        }
    }

    private func talk(_ call: Call, _ body: @escaping (Call) async throws -> Void = { _ in }) {
        call.loop.spawn {
            guard (try? await call.wait(for: .answered, timeout: nil)) == .reached else { return }
            try? await body(call)
            try? await call.loop.sleep(for: .seconds(2))
            call.hangUp(.normal)
        }
    }

    @Test(arguments: ["udp", "tcp"]) func bothSidesOfACallAreWritten(transport: String) throws {
        let folder = TraceFolder()
        let events = Locked<[TraceEvent]>([])
        let tracing = CallTracing(TraceSettings(folder: folder.path), writer: .inline(name: "traces")) { event in
            events.withLock { $0.append(event) }
        }
        let world = VirtualWorld(seed: 1)
        _ = try world.engine(at: "192.0.2.1", settings: nil, tracing: tracing, onIncoming: answering)
        let callers = try world.engine(at: "192.0.2.2", settings: nil, tracing: tracing)
        talk(try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1;transport=\(transport)")))
        world.loop.run(for: .seconds(3))
        #expect(tracing.counters.active == 2)
        world.loop.run(for: .seconds(20))
        #expect(folder.calls.count == 2 && folder.calls.allSatisfy { $0.hasPrefix("20260101T000000Z-") }, "\(folder.calls)")
        #expect(tracing.counters.active == 0 && tracing.counters.calls == 2 && tracing.counters.dropped == 0)
        #expect(events.withLock { $0 }.count == 2)
        for call in 0..<2 {
            let ladder = try folder.text(call, "ladder.txt")
            let labels = ["INVITE sip:bot@", "180 Ringing", "200 OK", "ACK sip:", "BYE sip:", "RTP PCMU"]
            for label in labels { #expect(ladder.contains(label), "\(label) in\n\(ladder)") }
            #expect(ladder.split(separator: "\n").count == 9, "\(ladder)")
            #expect(try folder.text(call, "messages.txt").contains("CSeq: 1 INVITE\n"))
            #expect(try folder.text(call, "ladder.svg").hasPrefix("<svg "))
            // Two seconds both ways.
            #expect(try folder.octets(call, "call.pcap").count > 200 * 216)
        }
        #expect(world.finish() == [])
    }

    @Test func nothingIsLookedAtUnlessSomebodyWants() throws {
        let folder = TraceFolder()
        let tracing = CallTracing(nil, writer: .inline(name: "traces"))
        let world = VirtualWorld(seed: 2)
        let callee = try world.engine(at: "192.0.2.1", settings: nil, tracing: tracing, onIncoming: answering)
        let callers = try world.engine(at: "192.0.2.2")
        #expect(callee.shard(0).endpoint.onPassing == nil && callers.shard(0).endpoint.onPassing == nil)
        talk(try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1")))
        world.loop.run(for: .seconds(10))
        #expect(tracing.counters == TraceCounters())
        // From now on, and no longer than told.
        callee.trace(with: TraceSettings(folder: folder.path))
        world.loop.run(for: .milliseconds(1))
        #expect(callee.shard(0).endpoint.onPassing != nil)
        talk(try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1")))
        world.loop.run(for: .seconds(1))
        callee.trace(with: nil)
        world.loop.run(for: .seconds(20))
        #expect(folder.calls.count == 1)
        // The call that was traced stayed so to its end.
        #expect(try folder.text(0, "ladder.txt").contains("BYE sip:"))
        talk(try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1")))
        world.loop.run(for: .seconds(20))
        #expect(folder.calls.count == 1)
        #expect(world.finish() == [])
    }

    @Test func callsAreChosenSampledAndCounted() throws {
        let folder = TraceFolder()
        var settings = TraceSettings(folder: folder.path, sample: 2, calls: 2, kept: 3) { $0.to != "quiet" }
        let tracing = CallTracing(settings, writer: .inline(name: "traces"))
        let world = VirtualWorld(seed: 3)
        let callee = try world.engine(at: "192.0.2.1", settings: nil, tracing: tracing, onIncoming: answering)
        let callers = try world.engine(at: "192.0.2.2")
        for name in ["a", "quiet", "b", "quiet", "c"] {
            talk(try callers.shard(0).place(CallRequest(target: "sip:\(name)@192.0.2.1")))
            world.loop.run(for: .milliseconds(10))
        }
        #expect(tracing.counters.active == 2 && tracing.counters.refusedCalls == 0, "a and c")
        settings.sample = 1
        callee.trace(with: settings)
        talk(try callers.shard(0).place(CallRequest(target: "sip:d@192.0.2.1")))
        world.loop.run(for: .seconds(20))
        #expect(tracing.counters.refusedCalls == 1 && tracing.counters.calls == 2)
        #expect(folder.calls.count == 2)
        // The oldest make room; what others put there stays.
        try FileManager.default.createDirectory(atPath: "\(folder.path)/notes", withIntermediateDirectories: true)
        let first = folder.calls[0]
        for name in ["e", "f"] {
            talk(try callers.shard(0).place(CallRequest(target: "sip:\(name)@192.0.2.1")))
            world.loop.run(for: .seconds(20))
        }
        #expect(folder.calls.count == 4 && folder.calls.contains("notes") && !folder.calls.contains(first), "\(folder.calls)")
        #expect(world.finish() == [])
    }

    @Test func aFullCaptureStillHasTheEnd() throws {
        let folder = TraceFolder()
        let tracing = CallTracing(TraceSettings(folder: folder.path, size: 20_000), writer: .inline(name: "traces"))
        let world = VirtualWorld(seed: 4)
        _ = try world.engine(at: "192.0.2.1", settings: nil, tracing: tracing, onIncoming: answering)
        let callers = try world.engine(at: "192.0.2.2")
        talk(try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1")))
        world.loop.run(for: .seconds(20))
        #expect(tracing.counters.omitted > 100)
        #expect(try folder.octets(0, "call.pcap").count < 25_000)
        let ladder = try folder.text(0, "ladder.txt")
        #expect(
            ladder.contains("BYE sip:") && ladder.contains("\(tracing.counters.omitted) packets or messages left out"),
            "\(ladder)")
        #expect(world.finish() == [])
    }

    /// A caller who presses keys, secret ones among them.
    @Test(arguments: [true, false]) func keysAreMasked(showsKeys: Bool) throws {
        let folder = TraceFolder()
        let tracing = CallTracing(TraceSettings(folder: folder.path, showsKeys: showsKeys), writer: .inline(name: "traces"))
        let world = VirtualWorld(seed: 5)
        var heard = ""
        func hiding(_ call: Call) {
            call.onEnd = { _ in heard = call.digits.history }
            call.loop.spawn {
                try? await call.answer()
                try? await call.loop.sleep(for: .seconds(1))
                call.digits.isSecret = true
            }
        }
        _ = try world.engine(at: "192.0.2.1", settings: nil, tracing: tracing, onIncoming: hiding)
        let callers = try world.engine(at: "192.0.2.2", settings: nil, tracing: tracing)
        talk(try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))) { call in
            try await call.sendDigits("5", options: SendDigitsOptions(method: .rfc4733))
            try await call.loop.sleep(for: .seconds(2))
            var options = SendDigitsOptions(method: .rfc4733)
            options.isSecret = true
            try await call.sendDigits("9", options: options)
        }
        world.loop.run(for: .seconds(20))
        #expect(heard == "5")
        for call in 0..<2 {
            let codes = Self.eventCodes(try folder.octets(call, "call.pcap"))
            #expect(codes == (showsKeys ? [5, 255] : [255]), "\(codes)")
        }
        #expect(world.finish() == [])
    }

    /// The numbers of all telephone-events (payload type 101) of a capture.
    private static func eventCodes(_ capture: [UInt8]) -> Set<UInt8> {
        var codes: Set<UInt8> = []
        var place = 24
        while place + 16 <= capture.count {
            let length = capture[(place + 8)..<(place + 12)].reduce(0) { $0 << 8 | Int($1) }
            let packet = capture[(place + 16)..<(place + 16 + length)]
            // IPv4 and UDP headers take 28 octets, that of RTP 12.
            let start = packet.startIndex + 28
            if length == 44, packet[start] == 0x80, packet[start + 1] & 0x7F == 101 { codes.insert(packet[start + 12]) }
            place += 16 + length
        }
        return codes
    }

    @Test func aFolderThatCannotBeMadeIsToldOnce() throws {
        let events = Locked<[TraceEvent]>([])
        let tracing = CallTracing(TraceSettings(folder: "/proc/ringwright"), writer: .inline(name: "traces")) { event in
            events.withLock { $0.append(event) }
        }
        let world = VirtualWorld(seed: 6)
        _ = try world.engine(at: "192.0.2.1", settings: nil, tracing: tracing, onIncoming: answering)
        let callers = try world.engine(at: "192.0.2.2")
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        talk(call)
        world.loop.run(for: .seconds(20))
        #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)), "the call does not care")
        #expect(tracing.counters.failures == 1 && tracing.counters.active == 0)
        guard case .failed(_, let reason)? = events.withLock({ $0 }).first, events.withLock({ $0 }).count == 1 else {
            Issue.record("\(events.withLock { $0 })")
            return
        }
        #expect(reason.contains("/proc/ringwright"))
        #expect(world.finish() == [])
    }

    /// The writer's thread stands still: calls go on, what is missing is counted, and the end is written when it moves again.
    @Test func aWriterThatStandsStill() throws {
        let folder = TraceFolder()
        let writer = try WorkerPool(name: "traces", threads: 1, limit: 2)
        let gate = Locked(())
        let tracing = CallTracing(TraceSettings(folder: folder.path), writer: writer)
        let world = VirtualWorld(seed: 7)
        _ = try world.engine(at: "192.0.2.1", settings: nil, tracing: tracing, onIncoming: answering)
        let callers = try world.engine(at: "192.0.2.2")
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        try gate.withLock { _ in
            try writer.submit { gate.withLock { _ in } }
            talk(call)
            world.loop.run(for: .seconds(8))
            #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
            #expect(tracing.counters.dropped > 100)
        }
        // The end is tried again while time passes on the loop and the writer gets on.
        while tracing.counters.active > 0 { world.loop.run(for: .milliseconds(50)) }
        tracing.stop()
        #expect(try folder.text(0, "ladder.txt").contains("\(tracing.counters.dropped) packets or messages are missing"))
        #expect(world.finish() == [])
    }
}
