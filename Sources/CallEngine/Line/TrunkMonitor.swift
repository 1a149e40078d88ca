// Watching a trunk: each of its servers gets an OPTIONS now and then (RFC 3261 section 11). Any answer but 408 and 503 says that it lives; the
// others are tried last by calls, and the trunk counts as unavailable when none of its servers lives.

import Basics
import Reactor
import SIP

/// Watches one line. Belongs to its shard's loop.
final class TrunkMonitor {
    private let settings: LineSettings
    private let interval: Duration
    private unowned let shard: CallShard
    private let directory: LineDirectory
    private var timer: LoopTimer?
    private var transactions: [TransactionID] = []
    /// Servers of this round that have not answered, and what those said that have.
    private var waiting = 0
    private var living: [Hop] = []
    private var why = ""
    private var random: SeededRandom
    /// More servers than this are not asked.
    private static let mostServers = 16

    init(_ settings: LineSettings, every interval: Duration, shard: CallShard, directory: LineDirectory) {
        self.settings = settings
        self.interval = interval
        self.shard = shard
        self.directory = directory
        random = SeededRandom(seed: shard.newSeed())
    }

    func start(after delay: Duration) {
        timer = shard.loop.schedule(after: delay) { [unowned self] in ask() }
    }

    func close() {
        timer?.cancel()
        for transaction in transactions { shard.endpoint.release(transaction) }
        transactions = []
    }

    private func ask() {
        // A tenth more or less, so that trunks do not all ask in the same moment.
        timer = shard.loop.schedule(after: interval * Double.random(in: 0.9...1.1, using: &random)) { [unowned self] in ask() }
        guard waiting == 0 else { return }
        waiting = 1
        living = []
        why = "\(settings.server) was not found"
        shard.resolver.resolve(settings.serverTarget) { [weak self] hops in
            guard let self else { return }
            transactions = []
            waiting = min(hops.count, Self.mostServers) + 1
            for hop in hops.prefix(Self.mostServers) { send(to: hop) }
            answered()
        }
    }

    private func send(to hop: Hop) {
        var hop = hop
        hop.host = shard.endpoint.hostNumber(settings.server, path: settings.path, over: hop.transport)
        let end = shard.localEnd(hop.transport, shard.endpoint.localAddress(to: hop), secure: false)
        let uri = Array("sip:\(settings.domain)".utf8)
        let branch = shard.endpoint.newBranch()
        var writer = MessageWriter(capacity: 512)
        writer.request(
            .options, uri: uri, end: end, branch: branch, from: end.contact + Array(";tag=".utf8) + shard.endpoint.newToken(),
            to: Array("<".utf8) + uri + Array(">".utf8), callID: shard.newCallID(), cSeq: 1)
        writer.append("Accept: application/sdp\r\n")
        writer.finish()
        let id = shard.endpoint.send(writer.octets, method: .options, branch: branch, to: hop) { [weak self] event in
            guard let self else { return }
            switch event {
            case .response(let response, _):
                guard response.status >= 200 else { return }
                if response.status == 503 || response.status == 408 {
                    failed(hop, "\(hop.address) answered \(response.status)", retryAfter: response.number(.retryAfter))
                } else {
                    shard.health.worked(hop)
                    living.append(hop)
                }
            case .timedOut: failed(hop, "\(hop.address) did not answer")
            case .transportFailed: failed(hop, "\(hop.address) could not be reached")
            }
            answered()
        }
        transactions.append(id)
    }

    private func failed(_ hop: Hop, _ why: String, retryAfter: Int? = nil) {
        self.why = why
        shard.health.failed(hop, at: shard.loop.now, retryAfter: retryAfter)
    }

    private func answered() {
        waiting -= 1
        guard waiting == 0 else { return }
        if let first = living.first {
            directory.available(settings.name, at: first.address)
        } else {
            directory.unavailable(settings.name, why)
        }
    }
}
