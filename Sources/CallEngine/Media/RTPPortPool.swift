// The RTP ports of one loop: pairs of an even port for RTP and the odd one above for RTCP (RFC 3550 section 11).
//
// Sockets stay open and are used again, the longest unused first: opening two and closing them takes longer than everything else
// that a short call does in media. A pair rests after its call, so that packets of the old one never reach a new one; what arrived
// meanwhile is thrown away. A pair on which nothing was heard rests shortly: no stream runs that could be late. What came to it all the
// same is told by its time of arrival when the new call reads it.

import Basics
import Reactor

/// Two sockets. Belongs to one session at a time.
final class RTPPortPair {
    let rtp: DatagramSocket
    let rtcp: DatagramSocket
    /// Who gets what arrives: until `close` of the session, without which none ends. What comes to nobody is dropped.
    @exclusivity(unchecked) unowned(unsafe) var session: MediaSession?
    fileprivate var released = Instant.zero
    /// What came before that was for the call before.
    @exclusivity(unchecked) fileprivate var taken = Instant.zero

    fileprivate init(rtp: DatagramSocket, rtcp: DatagramSocket, pool: RTPPortPool) {
        self.rtp = rtp
        self.rtcp = rtcp
        // The pool closes the sockets, which forget these, before it goes.
        rtp.onReceive = { [unowned(unsafe) self, unowned(unsafe) pool] bytes, source in
            guard self.rtp.arrival >= taken else { return pool.countStray() }
            session?.received(bytes, from: source, at: self.rtp.arrival)
        }
        rtcp.onReceive = { [unowned(unsafe) self, unowned(unsafe) pool] bytes, source in
            guard self.rtcp.arrival >= taken else { return pool.countStray() }
            guard let session else { return }
            if session.trace != nil { session.traceReceived(bytes, from: source, by: self.rtcp, at: self.rtcp.arrival) }
            session.receivedReport(bytes, from: source, at: self.rtcp.arrival)
        }
    }
}

/// What the pool did.
package struct RTPPortCounters: Equatable, Sendable {
    package internal(set) var inUse = 0
    package internal(set) var opened = 0
    package internal(set) var taken: UInt64 = 0
    /// Sessions that got no pair.
    package internal(set) var refused: UInt64 = 0
    /// Of these, sessions that got none because the process has no descriptors left.
    package internal(set) var lackedDescriptors: UInt64 = 0
    /// Pairs used again before their rest was over, because no other was left.
    package internal(set) var restedLess: UInt64 = 0
    /// Packets of former calls that were thrown away.
    package internal(set) var stray: UInt64 = 0

    package init() {}
}

final class RTPPortPool {
    /// How long a pair rests, and the least when nothing else is left.
    static let rest = Duration.seconds(3)
    static let leastRest = Duration.milliseconds(200)

    /// EADDRINUSE: somebody else has the port.
    private static let addressInUse: Int32 = 98
    /// ENFILE, EMFILE: there are no more descriptors.
    private static let tooManyFiles: ClosedRange<Int32> = 23...24

    private let loop: EventLoop
    private let ip: IPAddress
    private let range: ClosedRange<UInt16>
    /// The next even port that was never opened.
    private var next: Int
    /// The system had no descriptor for the latest pair.
    private var lacksDescriptors = false
    /// What rests, by what was heard.
    @exclusivity(unchecked) private var heard = RestingPairs()
    @exclusivity(unchecked) private var unheard = RestingPairs()
    @exclusivity(unchecked) private(set) var counters = RTPPortCounters()

    /// `range`: at least one even port and the odd one above it.
    init(loop: EventLoop, ip: IPAddress, range: ClosedRange<UInt16>) {
        self.loop = loop
        self.ip = ip
        self.range = range
        next = (Int(range.lowerBound) + 1) & ~1
    }

    /// A pair whose sockets hold nothing.
    func take() throws(MediaError) -> RTPPortPair {
        let now = loop.now
        if let silent = unheard.take(releasedBy: now - Self.leastRest) { return given(silent) }
        if let rested = heard.take(releasedBy: now - Self.rest) { return again(rested) }
        if let fresh = try open() {
            counters.opened += 1
            return given(fresh)
        }
        if let tired = heard.take(releasedBy: now - Self.leastRest) {
            counters.restedLess += 1
            return again(tired)
        }
        counters.refused += 1
        guard lacksDescriptors else { throw .noPorts(range) }
        counters.lackedDescriptors += 1
        throw .noSocket("this process has no descriptors left")
    }

    /// - Parameter wasHeard: the far side's stream came here.
    func giveBack(_ pair: RTPPortPair, wasHeard: Bool) {
        counters.inUse -= 1
        pair.rtp.reading = .onDrain
        pair.rtcp.reading = .onArrival
        pair.rtp.disconnect()
        pair.released = loop.now
        if wasHeard { heard.add(pair) } else { unheard.add(pair) }
    }

    /// Closes what is free. Pairs in use are a fault.
    func close() {
        precondition(counters.inUse == 0, "a media session was not closed")
        for pair in heard.takeAll() + unheard.takeAll() {
            pair.rtp.close()
            pair.rtcp.close()
        }
    }

    private func given(_ pair: RTPPortPair) -> RTPPortPair {
        pair.taken = loop.now
        counters.inUse += 1
        counters.taken += 1
        return pair
    }

    func countStray() { counters.stray += 1 }

    private func again(_ pair: RTPPortPair) -> RTPPortPair {
        counters.stray += UInt64(pair.rtp.drain())
        return given(pair)
    }

    /// The next pair of the range that nobody else has; nil at its end, and when no more descriptors are to be had although there
    /// are pairs that only have to rest.
    private func open() throws(MediaError) -> RTPPortPair? {
        var options = DatagramOptions()
        options.reading = .onDrain
        options.dscp = 46
        options.stampsArrival = true
        // Until the first report has come (`MediaSession.readReports`).
        var reports = options
        reports.reading = .onArrival
        lacksDescriptors = false
        while next + 1 <= Int(range.upperBound) {
            let port = UInt16(next)
            next += 2
            do throws(SystemError) {
                let rtp = try loop.bindDatagram(to: SocketAddress(ip: ip, port: port), options: options)
                do throws(SystemError) {
                    let rtcp = try loop.bindDatagram(to: SocketAddress(ip: ip, port: port + 1), options: reports)
                    return RTPPortPair(rtp: rtp, rtcp: rtcp, pool: self)
                } catch {
                    rtp.close()
                    throw error
                }
            } catch {
                guard error.number == Self.addressInUse else {
                    next -= 2
                    lacksDescriptors = Self.tooManyFiles.contains(error.number)
                    if lacksDescriptors, counters.opened > 0 { return nil }
                    counters.refused += 1
                    if lacksDescriptors { counters.lackedDescriptors += 1 }
                    throw .noSocket(error.description)
                }
            }
        }
        return nil
    }
}

/// Pairs in the order in which they were given back.
private struct RestingPairs {
    private var pairs: [RTPPortPair] = []
    private var head = 0

    mutating func add(_ pair: RTPPortPair) { pairs.append(pair) }

    /// The one that rests longest, when it was given back no later than `limit`.
    mutating func take(releasedBy limit: Instant) -> RTPPortPair? {
        guard head < pairs.count, pairs[head].released <= limit else { return nil }
        let pair = pairs[head]
        head += 1
        if head > 1024 || head == pairs.count {
            pairs.removeFirst(head)
            head = 0
        }
        return pair
    }

    mutating func takeAll() -> ArraySlice<RTPPortPair> {
        defer { self = RestingPairs() }
        return pairs[head...]
    }
}
