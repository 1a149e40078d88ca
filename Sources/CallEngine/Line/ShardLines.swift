// The registered lines of one loop, and the trunks that it watches.

import Basics
import Reactor
import SIP

/// Belongs to its shard's loop.
final class ShardLines {
    private var lines: [RegisteredLine] = []
    private var monitors: [TrunkMonitor] = []
    private var watch: LoopTimer?
    /// How often this host's addresses are looked at.
    private static let watchInterval = Duration.seconds(5)
    /// First registrations a second: thousands of lines do not all knock at once.
    private static let startRate = 100

    /// - Parameters:
    ///   - settings: this loop's share, each with the mark of its contact.
    ///   - others: contacts that go, by line.
    func start(
        _ settings: [(index: Int, line: LineSettings, mark: String)], replacing others: [String: [String]], shard: CallShard,
        directory: LineDirectory
    ) {
        // Those that have ended.
        close()
        for (index, (_, line, mark)) in settings.enumerated() {
            if let interval = line.monitor {
                let monitor = TrunkMonitor(line, every: interval, shard: shard, directory: directory)
                monitors.append(monitor)
                monitor.start(after: .milliseconds(index * 1000 / Self.startRate))
            }
            guard let registration = line.registration else { continue }
            for flow in 1...max(registration.edges.count, 1) {
                let line = RegisteredLine(
                    line, registration, flow: flow, replacing: flow == 1 ? others[line.name] ?? [] : [], mark: mark, shard: shard,
                    directory: directory)
                lines.append(line)
                line.start(after: .milliseconds(index * 1000 / Self.startRate))
            }
        }
        shard.endpoint.onHopFailed = { [weak self] hop in self?.lost(hop) }
        if !lines.isEmpty { watchAddresses(on: shard.loop) }
    }

    private func watchAddresses(on loop: EventLoop) {
        watch = loop.schedule(after: Self.watchInterval) { [unowned self] in
            for line in lines { line.checkAddress() }
            watchAddresses(on: loop)
        }
    }

    private func lost(_ hop: Hop) {
        for line in lines { line.lost(hop) }
    }

    /// Tells the registrars, and watches no more; the directory says when all have answered.
    func stop() {
        watch?.cancel()
        for monitor in monitors { monitor.close() }
        monitors = []
        for line in lines { line.stop() }
    }

    func close() {
        watch?.cancel()
        for line in lines { line.close() }
        for monitor in monitors { monitor.close() }
        lines = []
        monitors = []
    }
}
