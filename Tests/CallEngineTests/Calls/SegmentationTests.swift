// `sip.segmentation`: messages of several calls go to the kernel together, on real loops and sockets, and every call is whole.

import Basics
import CallEngine
import Reactor
import Testing

@Suite struct SegmentationTests {
    private static func settings(_ segments: Bool) -> EngineSettings {
        var settings = EngineSettings(listeners: [.init(.udp, SocketAddress(ip: .loopback4, port: 0))])
        settings.segmentation = segments ? .on : .off
        return settings
    }

    @Test(arguments: [true, false]) func callsThatBeginTogether(segments: Bool) throws {
        let loops = try (0..<2).map { try EpollLoop(name: "segments \($0)") }
        for loop in loops { try loop.start() }
        let workers = try MediaWorkers()
        let names = try WorkerPool(name: "names", threads: 1, limit: 16)
        func engine(_ loop: EpollLoop, onIncoming: @escaping @Sendable (Call) -> Void) throws -> Engine {
            try Engine(
                settings: Self.settings(segments), loops: [loop], workers: workers, nameWorkers: names, seed: 3,
                onIncoming: onIncoming)
        }
        let server = try engine(loops[0]) { call in call.loop.spawn { try? await call.answer() } }
        let client = try engine(loops[1]) { call in call.hangUp(.normal) }
        let count = 8
        let ends = Locked<[CallEnd.Cause]>([])
        let over = Outcome<Void>()
        let target = "sip:bot@127.0.0.1:\(server.listeners[0].address.port)"
        client.withShard(0) { shard in
            for _ in 0..<count {
                guard let call = try? shard.place(CallRequest(target: target)) else { return over.set(()) }
                call.onEnd = { end in
                    let known = ends.withLock {
                        $0.append(end.cause)
                        return $0.count
                    }
                    if known == count { over.set(()) }
                }
                call.loop.spawn {
                    _ = try? await call.wait(for: .answered, timeout: nil)
                    call.hangUp(.normal)
                }
            }
        }
        #expect(over.wait(within: .seconds(20)) != nil)
        #expect(ends.withLock { $0 } == Array(repeating: .normal, count: count))
        // Their INVITEs have one length and leave at the end of one turn.
        #expect(segments ? client.signalingCounters.segmented >= UInt64(count) : client.signalingCounters.segmented == 0)
        client.close()
        server.close()
        for loop in loops { #expect(loop.stop(within: .seconds(5)) == EpollLoop.Leftovers()) }
        workers.stop()
        names.stop()
    }
}
