// Provisional responses that are acknowledged (RFC 3262), as two small machines: the called end's queue of responses that wait for
// their PRACK, and the calling end's memory of which RSeq it has seen in each early dialog. PRACK requests themselves are built
// in the dialog (ReliableAnswering.swift, InvitePlacing.swift).

import Basics

/// The called end (section 3): one response is in the air until its PRACK comes; the others wait behind it.
struct ReliableResponses: Sendable {
    struct Waiting: Sendable {
        let rSeq: UInt32
        let status: Int
        let octets: [UInt8]
        /// It carries a description: a 2xx must wait for its PRACK.
        let hasBody: Bool
        /// Where the INVITE came from.
        let source: SocketAddress
    }

    /// What is due.
    enum Due: Sendable {
        case `repeat`(Waiting)
        /// No PRACK came within 64*T1: the INVITE is to be refused.
        case unacknowledged(Waiting)
    }

    private var queue: [Waiting] = []
    private var next: UInt32
    private var interval = Duration.zero
    private var repeatAt = Instant.never
    private var endAt = Instant.never

    /// - Parameter first: the first RSeq, 1 to 2^31 - 1; chosen at random.
    init(first: UInt32) { next = first }

    /// The RSeq for the next response.
    mutating func number() -> UInt32 {
        defer { next += 1 }
        return next
    }

    /// Puts a response into the queue; true when it is to be sent now.
    mutating func add(_ response: Waiting, timers: TransactionTimers, at now: Instant) -> Bool {
        queue.append(response)
        guard queue.count == 1 else { return false }
        begin(timers, now)
        return true
    }

    /// A PRACK names this RSeq. nil: it belongs to nothing that waits (answer 481).
    mutating func acknowledged(_ rSeq: UInt32) -> Waiting? {
        guard let first = queue.first, first.rSeq == rSeq else { return nil }
        queue.removeFirst()
        (repeatAt, endAt) = (.never, .never)
        return first
    }

    /// The response that follows the one that was acknowledged; to be sent now.
    mutating func following(timers: TransactionTimers, at now: Instant) -> Waiting? {
        guard let first = queue.first else { return nil }
        begin(timers, now)
        return first
    }

    /// A 2xx has to wait: a response with a description has no PRACK yet.
    var holdsAnswer: Bool { queue.contains { $0.hasBody } }

    /// The INVITE has its final response: nothing is repeated any more, PRACKs on their way are still known.
    mutating func stopRepeating() {
        if queue.count > 1 { queue.removeLast(queue.count - 1) }
        (repeatAt, endAt) = (.never, .never)
    }

    var nextDeadline: Instant { min(repeatAt, endAt) }

    /// Intervals double without a bound, other than a 2xx's (section 3).
    mutating func fire(at now: Instant) -> Due? {
        guard let first = queue.first, now >= nextDeadline else { return nil }
        if now >= endAt {
            stopRepeating()
            return .unacknowledged(first)
        }
        interval = interval * 2
        repeatAt = now + interval
        return .repeat(first)
    }

    private mutating func begin(_ timers: TransactionTimers, _ now: Instant) {
        interval = timers.t1
        repeatAt = now + timers.t1
        endAt = now + timers.timeout
    }
}

/// The calling end (section 4): responses of an early dialog are taken in order, each once.
struct ReliableReception: Sendable {
    enum Verdict: Sendable, Equatable {
        /// Acknowledge with this RSeq, then act on it.
        case take(UInt32)
        /// Not reliable, or without RSeq: act on it, without PRACK.
        case plain
        /// Seen before, or ahead of one that is missing: neither PRACK nor action; a repetition brings the missing one.
        case absorb
    }

    private var last: UInt32?

    mutating func verdict(on response: Message) -> Verdict {
        guard response.status > 100, response.lists(.require, "100rel"),
            let rSeq = response.number(.rSeq).flatMap(UInt32.init(exactly:))
        else { return .plain }
        if let last, rSeq != last &+ 1 { return .absorb }
        last = rSeq
        return .take(rSeq)
    }
}
