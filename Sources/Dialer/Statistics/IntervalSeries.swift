// Figures over time in a bounded number of intervals: they begin with a second each, and double whenever there are too many.

import Basics

package struct IntervalSeries: Equatable, Codable, Sendable {
    package struct Interval: Equatable, Codable, Sendable {
        package var placed = 0
        package var answered = 0
        package var failed = 0
        /// The most calls at a time that were seen in it.
        package var peak = 0
        /// Of the calls that ended in it, and of the BYEs that were answered in it: microseconds, as those of the whole run.
        package var ringing = Histogram()
        package var answer = Histogram()
        package var bye = Histogram()
        /// Failures by status or cause.
        package var failures: [String: Int] = [:]
        /// Messages that were sent again in it.
        package var retransmissions = 0
        /// RTP packets of the calls that ended in it.
        package var sent: UInt64 = 0
        package var received: UInt64 = 0
        package var lost: Int64 = 0
        /// A value a call that ended in it and heard something: microseconds, and hundredths of a score.
        package var jitter = Histogram()
        package var score = Histogram()
        /// Answered calls that sent audio and heard none.
        package var oneWay = 0

        /// - Parameter together: both were at the same time on different machines, so that their calls at a time add up.
        mutating func add(_ other: Interval, together: Bool = false) {
            placed += other.placed
            answered += other.answered
            failed += other.failed
            peak = together ? peak + other.peak : max(peak, other.peak)
            ringing.merge(other.ringing)
            answer.merge(other.answer)
            bye.merge(other.bye)
            failures.merge(other.failures, uniquingKeysWith: +)
            retransmissions += other.retransmissions
            sent += other.sent
            received += other.received
            lost += other.lost
            jitter.merge(other.jitter)
            score.merge(other.score)
            oneWay += other.oneWay
        }

        /// The share of packets that did not come, 0 to 1; nil where none was to come.
        package var lossShare: Double? {
            let expected = Double(received) + Double(lost)
            return expected > 0 ? Double(lost) / expected : nil
        }
    }

    private static let most = 1200
    /// Seconds of each.
    package private(set) var length = 1
    package private(set) var intervals: [Interval] = []

    package init() {}

    /// As another machine told it.
    init(length: Int, intervals: [Interval]) { (self.length, self.intervals) = (max(1, length), intervals) }

    /// Changes the interval of that time from the start.
    package mutating func at(_ time: Duration, _ change: (inout Interval) -> Void) {
        let second = max(0, Int(time.nanoseconds / 1_000_000_000))
        while second / length >= Self.most { halve() }
        let index = second / length
        while intervals.count <= index { intervals.append(Interval()) }
        change(&intervals[index])
    }

    /// - Parameter together: the other is of another machine.
    package mutating func merge(_ other: IntervalSeries, together: Bool = false) {
        var other = other
        while length < other.length { halve() }
        while other.length < length { other.halve() }
        while intervals.count < other.intervals.count { intervals.append(Interval()) }
        for (index, interval) in other.intervals.enumerated() { intervals[index].add(interval, together: together) }
    }

    /// The intervals that are not as they were then, with their places; all of them when they have another length now.
    func changes(since before: IntervalSeries) -> [(place: Int, interval: Interval)] {
        intervals.enumerated().filter { place, interval in
            before.length != length || place >= before.intervals.count || before.intervals[place] != interval
        }.map { (place: $0.offset, interval: $0.element) }
    }

    /// Makes one of each two.
    private mutating func halve() {
        length *= 2
        intervals = stride(from: 0, to: intervals.count, by: 2).map { index in
            var sum = intervals[index]
            if index + 1 < intervals.count { sum.add(intervals[index + 1]) }
            return sum
        }
    }
}
