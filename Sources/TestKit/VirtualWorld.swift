// Engines that call each other without a kernel: one virtual loop, an in-memory network with its faults, a clock turned by hand.

import Basics
package import CallEngine
package import Reactor

/// A world in which hours pass in milliseconds, the same way for the same seed.
package final class VirtualWorld {
    package let loop: VirtualLoop
    package let network: VirtualNetwork
    private let seed: UInt64
    private let workers = MediaWorkers.inline()
    private var engines: [Engine] = []
    private var made: UInt64 = 0

    package init(seed: UInt64) {
        self.seed = seed
        network = VirtualNetwork(seed: seed)
        loop = VirtualLoop(network: network)
    }

    /// An engine on a host of its own, listening on UDP and TCP 5060.
    /// - Parameter loops: how many loops it thinks it has: all are this one.
    package func engine(
        at ip: String, loops: Int = 1, settings adjust: ((inout EngineSettings) -> Void)?, tracing: CallTracing? = nil,
        trace: (@Sendable (TracedMessage) -> Void)? = nil, onNotice: (@Sendable (SignalingNotice) -> Void)? = nil,
        onIncoming: ((Call) -> Void)? = nil
    ) throws -> Engine {
        let address = SocketAddress(ip: IPAddress(ip)!, port: 5060)
        var settings = EngineSettings(
            listeners: [.init(.udp, address), .init(.tcp, address)], limits: .init(calls: 100_000, callsPerSecond: 100_000))
        adjust?(&settings)
        let engine = try Engine(
            settings: settings, loops: Array(repeating: loop, count: loops), workers: workers,
            nameWorkers: .inline(name: "names"), seed: seed &* 31 &+ made,
            mediaSeed: seed &* 37 &+ made, tracing: tracing, trace: trace,
            onNotice: onNotice, onIncoming: { _ in })
        for index in 0..<loops { engine.shard(index).onIncoming = onIncoming }
        engines.append(engine)
        made += 1
        return engine
    }

    package func engine(at ip: String, onIncoming: ((Call) -> Void)? = nil) throws -> Engine {
        try engine(at: ip, settings: nil, onIncoming: onIncoming)
    }

    /// Ends an engine as a crash does, which nobody asks for what it left behind. Cut its host off before, or its last words go out.
    package func abandon(_ engine: Engine) {
        engine.close()
        engines.removeAll { $0 === engine }
    }

    /// Lets all timers of ended calls run out, closes the engines, and tells what is left: nothing, when all is well.
    package func finish() -> [String] {
        loop.run(for: .seconds(120))
        var left: [String] = []
        for (index, engine) in engines.enumerated() {
            for shard in (0..<engine.loopCount).map({ engine.shard($0) }) {
                if shard.heldCalls > 0 { left.append("engine \(index): \(shard.heldCalls) calls") }
                if shard.endpoint.held > 0 { left.append("engine \(index): \(shard.endpoint.held) transactions and dialogs") }
            }
            if engine.gate.active != 0 { left.append("engine \(index): \(engine.gate.active) calls counted as active") }
            engine.close()
        }
        loop.run(for: .seconds(1))
        if loop.liveTasks > 0 { left.append("\(loop.liveTasks) tasks") }
        if loop.pendingTimers > 0 { left.append("\(loop.pendingTimers) timers") }
        if network.openSockets > 0 { left.append("\(network.openSockets) sockets") }
        return left
    }
}
