import Basics
import CallEngine
import Reactor
import Testing

/// Real loops and sockets, on addresses of the loopback network that nobody else uses: calls spread over the loops of both engines, and each stays whole on one.
@Suite struct SeveralLoopsTests {
    private struct Spread: Sendable {
        var answered = [0, 0]
        var ended = [0, 0]
        var placedEnded = 0
        var causes: Set<String> = []

        /// Whether both sides of all calls are over.
        func isOver(_ count: Int) -> Bool { placedEnded == count && ended[0] + ended[1] == count }
    }

    private func engine(
        at ip: String, _ loops: [EpollLoop], _ workers: MediaWorkers, _ names: WorkerPool,
        trace: (@Sendable (TracedMessage) -> Void)? = nil, onIncoming: @escaping @Sendable (Call) -> Void
    ) throws -> Engine {
        let address = SocketAddress(ip: IPAddress(ip)!, port: 0)
        return try Engine(
            settings: EngineSettings(
                listeners: [.init(.udp, address), .init(.tcp, address)],
                limits: .init(calls: 10_000, callsPerSecond: 10_000)), loops: loops, workers: workers, nameWorkers: names,
            seed: 11, trace: trace, onIncoming: onIncoming)
    }

    @Test(arguments: ["udp", "tcp"]) func callsOfTwoEnginesWithTwoLoopsEach(transport: String) throws {
        let loops = try (0..<4).map { try EpollLoop(name: "loop \($0)") }
        for loop in loops { try loop.start() }
        let workers = try MediaWorkers()
        let names = try WorkerPool(name: "names", threads: 1, limit: 16)
        let spread = Locked(Spread())
        let over = Outcome<Void>()
        let count = 60
        let server = try engine(at: "127.0.0.2", Array(loops[0..<2]), workers, names) { call in
            let index = call.loop.name == "loop 0" ? 0 : 1
            call.onEnd = { _ in
                let isOver = spread.withLock { spread in
                    spread.ended[index] += 1
                    return spread.isOver(count)
                }
                if isOver { over.set(()) }
            }
            call.loop.spawn {
                try? await call.answer()
                spread.withLock { $0.answered[index] += 1 }
            }
        }
        // How often each message was heard of; one that is sent again is another at a later time.
        let heard = Locked<[String: Int]>([:])
        let client = try engine(
            at: "127.0.0.3", Array(loops[2..<4]), workers, names,
            trace: { message in
                let key = "\(message.at.nanoseconds) \(message.direction) \(String(decoding: message.bytes, as: UTF8.self))"
                heard.withLock { $0[key, default: 0] += 1 }
            }
        ) { call in call.hangUp(.normal) }
        let port = server.listeners.first { $0.transport.rawValue == transport }!.address.port
        let target = "sip:bot@127.0.0.2:\(port);transport=\(transport)"
        for index in 0..<count {
            client.withShard(index % 2) { shard in
                guard let call = try? shard.place(CallRequest(target: target)) else { return }
                call.onEnd = { end in
                    let isOver = spread.withLock { spread in
                        spread.placedEnded += 1
                        spread.causes.insert(end.cause.rawValue)
                        return spread.isOver(count)
                    }
                    if isOver { over.set(()) }
                }
                call.loop.spawn {
                    _ = try? await call.wait(for: .answered, timeout: nil)
                    try? await call.loop.sleep(for: .milliseconds(50))
                    call.hangUp(.normal)
                }
            }
        }
        // Each call takes some 50 ms; the bound is for a machine that does other things as well.
        _ = over.wait(within: .seconds(20))
        let result = spread.withLock { $0 }
        #expect(result.placedEnded == count)
        #expect(result.causes == ["normal"])
        #expect(heard.withLock { $0.count >= 4 * count && $0.values.allSatisfy { $0 == 1 } }, "each message once")
        #expect(result.answered.allSatisfy { $0 > 5 }, "\(result.answered)")
        #expect(result.ended == result.answered)
        #expect(server.gate.active == 0)
        client.close()
        server.close()
        for loop in loops { #expect(loop.stop(within: .seconds(10)) == EpollLoop.Leftovers(), "\(loop.name)") }
        workers.stop()
        names.stop()
    }
}
