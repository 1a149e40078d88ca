// Figures over time in a bounded number of intervals: they begin with a second each, and double whenever there are too many.

import Basics

package struct IntervalSeries: Equatable, Codable, Sendable {
    package struct Interval: Equatable, Codable, Sendable {
        package var placed = 0
        package var answered = 0
        package var failed = 0
        /// The most calls at a time that were seen in it.
        package var peak = 0
        /// Milliseconds to the answer, summed, and of how many calls.
        package var answerSum = 0.0
        package var answerCount = 0
        /// The longest of them.
        package var answerMost = 0.0
        /// Failures by status or cause.
        package var failures: [String: Int] = [:]
        /// RTP packets of the calls that ended in it.
        package var received: UInt64 = 0
        package var lost: Int64 = 0
        /// Milliseconds, summed, of calls that heard something, and how many these are; and their scores.
        package var jitterSum = 0.0
        package var scoreSum = 0.0
        package var heardCount = 0
        /// Answered calls that sent audio and heard none.
        package var oneWay = 0

        /// - Parameter together: both were at the same time on different machines, so that their calls at a time add up.
        mutating func add(_ other: Interval, together: Bool = false) {
            placed += other.placed
            answered += other.answered
            failed += other.failed
            peak = together ? peak + other.peak : max(peak, other.peak)
            answerSum += other.answerSum
            answerCount += other.answerCount
            answerMost = max(answerMost, other.answerMost)
            failures.merge(other.failures, uniquingKeysWith: +)
            received += other.received
            lost += other.lost
            jitterSum += other.jitterSum
            scoreSum += other.scoreSum
            heardCount += other.heardCount
            oneWay += other.oneWay
        }

        /// Milliseconds; nil where no call was answered.
        package var answerMean: Double? { answerCount == 0 ? nil : answerSum / Double(answerCount) }
        /// Milliseconds; nil where no call that ended heard anything.
        package var jitterMean: Double? { heardCount == 0 ? nil : jitterSum / Double(heardCount) }
        /// Mean opinion score; nil as above.
        package var scoreMean: Double? { heardCount == 0 ? nil : scoreSum / Double(heardCount) }
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
