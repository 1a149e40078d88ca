// Two transaction layers with a network between them that loses, delays, repeats and reorders; all from a seed.

import Basics
import SIP

struct LossyPair {
    var ends = [TransactionLayer(seed: 11), TransactionLayer(seed: 12)]
    private var random: SeededRandom
    private var flying: [(at: Instant, to: Int, octets: [UInt8])] = []
    private var now = Instant.zero
    private var actions: [TransactionAction] = []
    /// How often a request reached the user of the second end, by Call-ID.
    var delivered: [String: Int] = [:]
    var timeouts = 0

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    private let hop = Hop(transport: .udp, address: SocketAddress("192.0.2.7:5062")!)

    mutating func send(_ message: [UInt8], _ method: Method, _ branch: [UInt8], at instant: Instant) -> TransactionID {
        now = instant
        let id = ends[0].send(message, method: method, branch: branch, to: hop, at: now, into: &actions)
        settle(0) { _, _ in }
        return id
    }

    private mutating func settle(_ end: Int, _ onResponse: (TransactionID, Int) -> Void) {
        let batch = actions
        actions = []
        for action in batch {
            switch action {
            case .send(let octets, _):
                for _ in 0..<(random.happens(0.1) ? 2 : 1) where !random.happens(0.3) {
                    flying.append((now + .milliseconds(Int.random(in: 1...200, using: &random)), 1 - end, octets))
                }
            case .request(let message, let id, _):
                delivered[text(message.callID), default: 0] += 1
                let status = message.method == .invite ? 486 : 200
                ends[end].respond(id, status: status, message.response(status, tag: [55]), at: now, into: &actions)
            case .response(let message, let id, _): onResponse(id, message.status)
            case .timedOut: if end == 0 { timeouts += 1 }
            default: break
            }
        }
        if !actions.isEmpty { settle(end, onResponse) }
    }

    mutating func run(until end: Instant, _ onResponse: (TransactionID, Int) -> Void) {
        while true {
            let next = flying.indices.min { flying[$0].at < flying[$1].at }
            let arrival = next.map { flying[$0].at } ?? .never
            let deadlines = [ends[0].nextDeadline(), ends[1].nextDeadline()]
            let instant = min(arrival, deadlines[0], deadlines[1])
            guard instant <= end else { return }
            now = max(now, instant)
            if let next, arrival == instant {
                let packet = flying.remove(at: next)
                if let message = try? Message(parsing: packet.octets) {
                    ends[packet.to].receive(message, from: hop, at: now, into: &actions)
                    settle(packet.to, onResponse)
                }
            } else {
                let side = deadlines[0] == instant ? 0 : 1
                ends[side].fire(at: now, into: &actions)
                settle(side, onResponse)
            }
        }
    }
}
