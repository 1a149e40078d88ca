// What arrived of a stream: sequence numbers with wrap, restart and probation (RFC 3550 appendix A.1), loss (A.3), jitter (A.8).
// One object follows one stream through changes of its SSRC.

package import Basics

/// How a packet fits into its stream.
package enum Arrival: Equatable, Sendable {
    /// The first packet of all. It counts once a second one follows.
    case first
    /// The next one; `missing` numbers before it did not come (yet).
    case next(missing: Int)
    /// Older than one that came before, and new.
    case late
    case duplicate
    /// From another SSRC or far outside the numbers: not to be used, unless the next one confirms it.
    case candidate
    /// A changed SSRC or a restarted count is confirmed: everything before belongs to another stream.
    case restarted

    /// Whether the payload may be used.
    package var isUsable: Bool {
        switch self {
        case .first, .next, .late, .restarted: true
        case .duplicate, .candidate: false
        }
    }
}

package struct ReceiveStatistics: Sendable {
    /// RFC 3550 appendix A.1's MAX_DROPOUT and MAX_MISORDER.
    private static let maximumDropout: UInt16 = 3000
    private static let maximumMisorder: UInt16 = 100
    /// A packet that comes so much later than the one before it would have is not played any more: a jitter buffer of usual size has gone on.
    private static let playable = Duration.milliseconds(60)
    /// Numbers that may come out of order before one that is missing counts as lost in `bursts`.
    private static let settling = 3
    /// Steps of the timestamp that are a packet's time, in milliseconds; longer ones are pauses.
    private static let longestPacket: UInt32 = 120

    // What each packet touches, together.

    /// The current source; nil before the first packet.
    package private(set) var ssrc: UInt32?
    private var hasCandidate = false
    private var hasTransit = false
    private var base: UInt32 = 0
    private var highest: UInt32 = 0
    /// Bit n: `highest - n` came.
    private var window: UInt64 = 0
    /// Packets of the current source, duplicates not counted.
    private var received: UInt64 = 0
    /// When the last usable packet came.
    package private(set) var lastArrival: Instant?
    private var clockRate: UInt32
    private var transit: Int32 = 0
    /// 16 times the jitter, in units of the RTP clock.
    private var scaledJitter: UInt32 = 0
    private var largestJitter: UInt32 = 0
    private var lastTimestamp: UInt32 = 0
    private var lastStep: UInt32 = 0
    /// See `packetTime`; 0: not known.
    private var packetUnits: UInt32 = 0

    private var duplicates: UInt64 = 0
    /// Totals of former sources.
    private var formerExpected: UInt64 = 0
    private var formerReceived: UInt64 = 0

    private var bursts = LossBursts()
    /// The number behind the last loss of the current source.
    private var lossEnd: UInt32 = 0

    private var candidateSSRC: UInt32 = 0
    private var candidateNext: UInt16 = 0

    /// Packets that came out of order and too late to be played, of all sources.
    package private(set) var lateCount: UInt64 = 0
    /// Duplicates, of all sources.
    package private(set) var duplicateCount: UInt64 = 0
    /// Changes of the SSRC and restarts of the count.
    package private(set) var restartCount: UInt64 = 0

    private var reportedExpected: UInt64 = 0
    private var reportedReceived: UInt64 = 0
    private var lastSenderReport: (middle: UInt32, at: Instant)?

    /// `clockRate` in Hz, more than 0.
    package init(clockRate: UInt32) {
        precondition(clockRate > 0)
        self.clockRate = clockRate
    }

    // MARK: Packets

    /// Counts a packet. `measuresJitter` is false for packets whose timestamp is not the time of sending, such as telephone-event.
    @inline(__always)
    package mutating func receive(
        ssrc: UInt32, sequence: UInt16, timestamp: UInt32, at now: Instant, measuresJitter: Bool = true
    ) -> Arrival {
        let arrival = place(ssrc: ssrc, sequence: sequence)
        if arrival.isUsable {
            lastArrival = now
            if measuresJitter {
                measure(timestamp, at: now, isLate: arrival == .late)
                if arrival != .late { noteStep(to: timestamp, isNext: arrival == .next(missing: 0)) }
            }
        }
        return arrival
    }

    /// A change of the codec: jitter is measured anew with another clock.
    package mutating func change(clockRate: UInt32) {
        precondition(clockRate > 0)
        guard clockRate != self.clockRate else { return }
        scaledJitter = UInt32(UInt64(scaledJitter) * UInt64(clockRate) / UInt64(self.clockRate))
        largestJitter = UInt32(UInt64(largestJitter) * UInt64(clockRate) / UInt64(self.clockRate))
        self.clockRate = clockRate
        hasTransit = false
        packetUnits = 0
        lastStep = 0
    }

    private mutating func place(ssrc: UInt32, sequence: UInt16) -> Arrival {
        guard self.ssrc == ssrc else {
            guard self.ssrc != nil else {
                self.ssrc = ssrc
                begin(at: sequence)
                return .first
            }
            return challenge(ssrc: ssrc, sequence: sequence)
        }
        let step = sequence &- UInt16(truncatingIfNeeded: highest)
        if step == 0 {
            return countDuplicate()
        } else if step < Self.maximumDropout {
            settleLosses(before: Int(step))
            highest &+= UInt32(step)
            window = step < 64 ? window << UInt64(step) | 1 : 1
            received += 1
            hasCandidate = false
            return .next(missing: Int(step) - 1)
        } else if step > UInt16.max - Self.maximumMisorder {
            let age = UInt64(0 &- step)
            if age < 64 {
                guard window >> age & 1 == 0 else { return countDuplicate() }
                window |= 1 << age
            }
            // Older than the first one that counted: the stream began earlier than it seemed.
            let extended = highest &- UInt32(age)
            if Int32(bitPattern: extended &- base) < 0 { base = extended }
            received += 1
            return .late
        }
        return challenge(ssrc: ssrc, sequence: sequence)
    }

    /// Two packets in a row of another source or count make it the stream.
    private mutating func challenge(ssrc: UInt32, sequence: UInt16) -> Arrival {
        guard hasCandidate, candidateSSRC == ssrc, candidateNext == sequence else {
            hasCandidate = true
            candidateSSRC = ssrc
            candidateNext = sequence &+ 1
            return .candidate
        }
        settleLosses(before: Self.settling)
        formerExpected += expectedOfSource
        formerReceived += received
        restartCount += 1
        self.ssrc = ssrc
        // The candidate itself came too, although it was not used.
        begin(at: sequence &- 1)
        highest &+= 1
        window = 3
        received = 2
        hasTransit = false
        return .restarted
    }

    /// The highest number moves on by `step`: what is missing then among the numbers that have settled is lost.
    @inline(__always)
    private mutating func settleLosses(before step: Int) {
        for age in stride(from: Self.settling - 1, through: max(0, Self.settling - step), by: -1)
        where window >> UInt64(age) & 1 == 0 {
            noteLoss(highest &- UInt32(age))
        }
        for number in stride(from: 1, through: step - Self.settling, by: 1) { noteLoss(highest &+ UInt32(number)) }
    }

    private mutating func noteLoss(_ number: UInt32) {
        guard Int32(bitPattern: number &- base) > 0 else { return }
        bursts.lost(1, after: number &- lossEnd)
        lossEnd = number &+ 1
    }

    private mutating func begin(at sequence: UInt16) {
        // One cycle up, so that a late packet from before the first one does not go below zero.
        base = 0x1_0000 + UInt32(sequence)
        highest = base
        lossEnd = base
        window = 1
        received = 1
        duplicates = 0
        hasCandidate = false
        reportedExpected = 0
        reportedReceived = 0
        lastSenderReport = nil
    }

    private mutating func countDuplicate() -> Arrival {
        duplicates += 1
        duplicateCount += 1
        return .duplicate
    }

    /// Two equal steps in a row between packets that follow each other are the time of a packet.
    @inline(__always)
    private mutating func noteStep(to timestamp: UInt32, isNext: Bool) {
        let step = isNext ? timestamp &- lastTimestamp : 0
        if step == lastStep, step != 0, step != packetUnits, step <= clockRate / 1000 * Self.longestPacket {
            packetUnits = step
        }
        lastStep = step
        lastTimestamp = timestamp
    }

    /// RFC 3550 appendix A.8, in integers.
    private mutating func measure(_ timestamp: UInt32, at now: Instant, isLate: Bool) {
        let seconds = now.nanoseconds / 1_000_000_000
        let rest = now.nanoseconds % 1_000_000_000
        let units = seconds &* Int64(clockRate) &+ rest * Int64(clockRate) / 1_000_000_000
        let transit = Int32(truncatingIfNeeded: units &- Int64(timestamp))
        defer {
            self.transit = transit
            hasTransit = true
        }
        guard hasTransit else { return }
        let step = transit &- self.transit
        let difference = step.magnitude
        if isLate, step > 0, duration(difference << 4) > Self.playable { lateCount += 1 }
        // A step of more than 10 s is a new timestamp base, not jitter.
        guard difference < clockRate.multipliedReportingOverflow(by: 10).partialValue else { return }
        scaledJitter = scaledJitter &+ difference &- ((scaledJitter &+ 8) >> 4)
        largestJitter = max(largestJitter, scaledJitter)
    }

    // MARK: Figures

    private var expectedOfSource: UInt64 { ssrc == nil ? 0 : UInt64(highest &- base) + 1 }

    /// Packets that should have come, of all sources.
    package var expectedCount: UInt64 { formerExpected + expectedOfSource }
    /// Packets that came, without duplicates, of all sources.
    package var receivedCount: UInt64 { formerReceived + received }
    /// Packets that did not come.
    package var lostCount: UInt64 { expectedCount - min(receivedCount, expectedCount) }
    /// How the losses lie (RFC 3611 section 4.7.2), of all sources.
    package var lossBursts: LossBursts.Figures {
        var all = self
        all.settleLosses(before: Self.settling)
        return all.bursts.figures(received: ssrc == nil ? 0 : highest &- all.lossEnd &+ 1)
    }
    /// What a packet of the far side holds, by the timestamps of those that came; nil before three in a row.
    package var packetTime: Duration? { packetUnits == 0 ? nil : duration(packetUnits << 4) }
    /// The smoothed jitter of RFC 3550 section 6.4.1.
    package var jitter: Duration { duration(scaledJitter) }
    /// The largest value that `jitter` had.
    package var maximumJitter: Duration { duration(largestJitter) }

    private func duration(_ scaled: UInt32) -> Duration {
        .nanoseconds(Int64(scaled) * 1_000_000_000 / (16 * Int64(clockRate)))
    }

    // MARK: Reports

    /// A sender report of the source came; our next report refers to it.
    package mutating func receive(senderReport middle: UInt32, from ssrc: UInt32, at now: Instant) {
        if ssrc == self.ssrc { lastSenderReport = (middle, now) }
    }

    /// How many packets a source had sent before the first one of it that came, by the count in its sender report; nil for another source
    /// than the first. It may be too large by the packets that are on their way.
    package func unheardStart(sent: UInt32, by ssrc: UInt32) -> UInt64? {
        guard ssrc == self.ssrc, formerExpected == 0 else { return nil }
        return UInt64(sent) - min(expectedOfSource, UInt64(sent))
    }

    /// The report block for the current source; the fraction is of the time since the last one (appendix A.3). nil before the
    /// first packet. Duplicates count as received, as section 6.4.1 says, so the loss can be negative.
    package mutating func makeReport(at now: Instant) -> ReportBlock? {
        guard let ssrc else { return nil }
        let expected = expectedOfSource
        let arrived = received + duplicates
        let expectedNow = expected - min(reportedExpected, expected)
        let lostNow = Int64(expectedNow) - Int64(arrived - min(reportedReceived, arrived))
        reportedExpected = expected
        reportedReceived = arrived
        let fraction = expectedNow == 0 || lostNow <= 0 ? 0 : UInt8(min(lostNow * 256 / Int64(expectedNow), 255))
        let lost = max(-0x80_0000, min(Int64(expected) - Int64(arrived), 0x7F_FFFF))
        return ReportBlock(
            ssrc: ssrc, fractionLost: fraction, cumulativeLost: Int32(lost), highestSequence: highest &- 0x1_0000,
            jitter: scaledJitter >> 4, lastSenderReport: lastSenderReport?.middle ?? 0,
            delaySinceSenderReport: lastSenderReport.map { NTPTime.units65536(now - $0.at) } ?? 0)
    }
}
