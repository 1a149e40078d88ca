// When calls begin: so many a period, reckoned from the last change of the rate, with at most so many at a time. Calls that the limit kept
// back are not made up for.

import Basics

struct Opening {
    /// Calls each period.
    private(set) var rate: Double
    /// Seconds.
    private let period: Double
    private var since: Instant
    private var opened = 0
    private let limit: Int?
    private let pause: Double

    init(_ options: Options, now: Instant) {
        rate = options.rate
        period = options.ratePeriod / 1000
        since = now
        limit = options.limit
        pause = options.calls.pause
    }

    /// Calls at a time, at most: by SIPp's rule when nothing was said.
    var most: Int { limit ?? max(1, Int(bounded: 3 * rate * max(1, pause / 1000) / period)) }

    mutating func change(to rate: Double, at now: Instant) {
        self.rate = max(0, rate)
        since = now
        opened = 0
    }

    /// How many are due now.
    func due(at now: Instant) -> Int { max(0, Int(bounded: (now - since).seconds * rate / period + 1e-9) - opened) }

    mutating func open() { opened += 1 }

    /// What is due now is given up.
    mutating func skip(at now: Instant) { change(to: rate, at: now) }

    /// Calls that are due close together begin together: a turn of the loop for each would cost more than the call.
    private static let grain = Duration.milliseconds(2)

    /// When the next ones are due; nil while the rate is zero.
    var next: Instant? {
        guard rate > 0 else { return nil }
        let due = since + .nanoseconds(Int64((Double(opened + 1) * period / rate * 1e9).rounded(.up)))
        return rate / period > 500 ? due.roundedUp(to: Self.grain) : due
    }
}
