// What a load run counts: plain sums and histograms, one set a loop, merged for the report. Memory is fixed, however many calls there are.

package import Basics
package import CallEngine

/// How a call of a load run ended.
package struct LoadOutcome: Sendable {
    /// Why it is counted as failed.
    package enum Failure: Equatable, Sendable {
        /// A final answer of the target.
        case status(Int)
        /// Everything else, by its name: a cause of `CallEnd`, `expectation`, `bye-timeout`.
        case cause(String)

        /// `503`, `no-answer`.
        package var name: String {
            switch self {
            case .status(let status): "\(status)"
            case .cause(let cause): cause
            }
        }
    }

    /// nil: it went as it was to go.
    package var failure: Failure?
    package var wasAnswered: Bool
    package var timings: CallTimings
    package var media: MediaReport
    /// Mean opinion score; nil without media.
    package var score: Double?
    /// No audio came, and the target sees this machine under another address than the one that it was told.
    package var isMisaddressed = false

    /// It was answered, sent audio, and heard none.
    package var isOneWay: Bool { wasAnswered && media.sent > 0 && media.received == 0 }

    package init(failure: Failure?, wasAnswered: Bool, timings: CallTimings, media: MediaReport, score: Double?) {
        self.failure = failure
        self.wasAnswered = wasAnswered
        self.timings = timings
        self.media = media
        self.score = score
    }
}

/// The sums of a run, or of a loop's share.
package struct LoadStatistics: Codable, Sendable {
    package var placed = 0
    /// Calls that have ended.
    package var over = 0
    package var answered = 0
    package var failed = 0
    package var byStatus: [Int: Int] = [:]
    package var byCause: [String: Int] = [:]
    /// From the INVITE to the first 18x and to the answer, and from a BYE to its answer; microseconds.
    package var ringing = Histogram()
    package var answer = Histogram()
    package var bye = Histogram()
    package var sent: UInt64 = 0
    package var received: UInt64 = 0
    package var lost: Int64 = 0
    /// Microseconds, a value a call that heard something.
    package var jitter = Histogram()
    /// Hundredths, a value a call that heard something.
    package var score = Histogram()
    /// Answered calls that sent audio and heard none.
    package var oneWay = 0
    /// Those of them in which this machine named a wrong address of its own.
    package var misaddressed = 0
    package var firstStart: Instant?
    package var lastStart: Instant?
    /// Messages that were sent again.
    package var retransmissions = 0
    /// The same over time.
    package var series = IntervalSeries()

    package init() {}

    /// As it goes to other machines; the series goes by itself (LoadStore).
    private enum CodingKeys: CodingKey {
        case placed, over, answered, failed, byStatus, byCause, ringing, answer, bye, sent, received, lost, jitter, score, oneWay
        case misaddressed, firstStart, lastStart, retransmissions
    }

    package mutating func started(at now: Instant, since start: Instant, active: Int) {
        placed += 1
        if firstStart == nil { firstStart = now }
        lastStart = now
        series.at(now - start) { interval in
            interval.placed += 1
            interval.peak = max(interval.peak, active)
        }
    }

    package mutating func ended(_ outcome: LoadOutcome, at now: Instant, since start: Instant) {
        let media = outcome.media
        let ringing = outcome.timings.ringing.map { $0.nanoseconds / 1000 }
        let answer = outcome.timings.answer.map { $0.nanoseconds / 1000 }
        let jitter = media.received > 0 ? media.jitter.nanoseconds / 1000 : nil
        let score = outcome.score.map { Int64(($0 * 100).rounded()) }
        over += 1
        if outcome.wasAnswered { answered += 1 }
        if let ringing { self.ringing.record(ringing) }
        if let answer { self.answer.record(answer) }
        sent += media.sent
        received += media.received
        lost += max(0, media.lost)
        if let jitter { self.jitter.record(jitter) }
        if let score { self.score.record(score) }
        if outcome.isOneWay { oneWay += 1 }
        if outcome.isMisaddressed { misaddressed += 1 }
        if let failure = outcome.failure { count(failure) }
        series.at(now - start) { interval in
            if let failure = outcome.failure {
                interval.failed += 1
                interval.failures[failure.name, default: 0] += 1
            }
            if outcome.wasAnswered { interval.answered += 1 }
            if let ringing { interval.ringing.record(ringing) }
            if let answer { interval.answer.record(answer) }
            interval.sent += media.sent
            interval.received += media.received
            interval.lost += max(0, media.lost)
            if let jitter { interval.jitter.record(jitter) }
            if let score { interval.score.record(score) }
            if outcome.isOneWay { interval.oneWay += 1 }
        }
    }

    /// A BYE of ours was answered after so long.
    package mutating func byeAnswered(after duration: Duration, at now: Instant, since start: Instant) {
        let microseconds = duration.nanoseconds / 1000
        bye.record(microseconds)
        series.at(now - start) { $0.bye.record(microseconds) }
    }

    /// So many messages were sent again.
    package mutating func sentAgain(_ count: Int, at now: Instant, since start: Instant) {
        guard count > 0 else { return }
        retransmissions += count
        series.at(now - start) { $0.retransmissions += count }
    }

    /// Counts a failure that came to light after the call.
    package mutating func failedLater(_ failure: LoadOutcome.Failure, at now: Instant, since start: Instant) {
        count(failure)
        series.at(now - start) { interval in
            interval.failed += 1
            interval.failures[failure.name, default: 0] += 1
        }
    }

    /// So many calls failed at once.
    package mutating func refused(_ failure: LoadOutcome.Failure, count: Int, at now: Instant, since start: Instant) {
        placed += count
        over += count
        firstStart = firstStart ?? now
        lastStart = now
        self.count(failure, count)
        series.at(now - start) { interval in
            interval.placed += count
            interval.failed += count
            interval.failures[failure.name, default: 0] += count
        }
    }

    private mutating func count(_ failure: LoadOutcome.Failure, _ count: Int = 1) {
        failed += count
        switch failure {
        case .status(let status): byStatus[status, default: 0] += count
        case .cause(let cause): byCause[cause, default: 0] += count
        }
    }

    /// - Parameter together: the other is of another machine.
    package mutating func merge(_ other: LoadStatistics, together: Bool = false) {
        placed += other.placed
        over += other.over
        answered += other.answered
        failed += other.failed
        byStatus.merge(other.byStatus, uniquingKeysWith: +)
        byCause.merge(other.byCause, uniquingKeysWith: +)
        ringing.merge(other.ringing)
        answer.merge(other.answer)
        bye.merge(other.bye)
        sent += other.sent
        received += other.received
        lost += other.lost
        jitter.merge(other.jitter)
        score.merge(other.score)
        oneWay += other.oneWay
        misaddressed += other.misaddressed
        retransmissions += other.retransmissions
        firstStart = [firstStart, other.firstStart].compactMap { $0 }.min()
        lastStart = [lastStart, other.lastStart].compactMap { $0 }.max()
        series.merge(other.series, together: together)
    }

    /// Calls a second over the time in which calls began; nil with fewer than two.
    package var rateAchieved: Double? {
        guard placed > 1, let firstStart, let lastStart, lastStart > firstStart else { return nil }
        return Double(placed - 1) / (lastStart - firstStart).seconds
    }
}
