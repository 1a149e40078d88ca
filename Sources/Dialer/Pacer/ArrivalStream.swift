// The instants at which the calls of one loop begin. Several loops share a run without speaking to each other: each takes its part of
// the same calls.

import Basics
import Foundation

/// When calls are to begin.
package enum Arrivals: Equatable, Sendable {
    /// By a rate: evenly, or at random as independent callers do (a Poisson process).
    case rate(RateProfile, poisson: Bool)
    /// At these seconds from the start, in their order.
    case times([Double])

    /// Calls that begin before `seconds`, or nil when only chance knows.
    package func count(before seconds: Double) -> Int? {
        switch self {
        case .rate(_, poisson: true): nil
        case .rate(let profile, poisson: false):
            profile.calls(by: seconds).isFinite ? Int(profile.calls(by: seconds).rounded(.up)) : nil
        case .times(let times): times.count { $0 < seconds }
        }
    }
}

/// One loop's share of the arrivals, one after the other.
package struct ArrivalStream: Sendable {
    private var arrivals: Arrivals
    private let index: Int
    private let count: Int
    private let most: Int
    private let until: Double
    private var random: SeededRandom
    /// Arrivals of this share so far.
    private var taken = 0
    /// Of the next one: how many calls of the whole run begin before it.
    private var position: Double
    /// Seconds from the start at which the next call of this share begins; `.infinity` when none does although the run goes on; nil
    /// when there are no more.
    package private(set) var next: Double?

    /// - Parameters:
    ///   - share: which loop, and of how many.
    ///   - calls: how many begin in the whole run; nil: no limit.
    ///   - until: seconds after which none begins; nil: no limit.
    ///   - seed: of chance; the same seed gives the same arrivals.
    package init(_ arrivals: Arrivals, share: (index: Int, count: Int), calls: Int?, until: Double?, seed: UInt64) {
        self.arrivals = arrivals
        index = share.index
        count = share.count
        most = calls.map { max(0, ($0 - share.index + share.count - 1) / share.count) } ?? .max
        self.until = until ?? .infinity
        random = SeededRandom(seed: seed &+ UInt64(share.index) &* 0x9E37_79B9)
        position = Double(share.index)
        if case .rate(_, poisson: true) = arrivals { position = Self.gap(&random) * Double(share.count) }
        find()
    }

    /// Goes on to the next arrival.
    package mutating func advance() {
        taken += 1
        if case .rate(_, poisson: true) = arrivals {
            position += Self.gap(&random) * Double(count)
        } else {
            position = Double(taken * count + index)
        }
        find()
    }

    /// So many times as fast from then on.
    package mutating func scale(by factor: Double, at seconds: Double) {
        guard next != nil else { return }
        switch arrivals {
        case .rate(var profile, let poisson):
            profile.scale(by: factor, at: seconds)
            arrivals = .rate(profile, poisson: poisson)
        case .times(let times):
            arrivals = .times(times.map { $0 > seconds ? seconds + ($0 - seconds) / factor : $0 })
        }
        find()
    }

    /// No more arrivals.
    package mutating func end() { next = nil }

    private mutating func find() {
        guard taken < most else { return next = nil }
        let time: Double
        switch arrivals {
        case .rate(let profile, _):
            time = profile.time(ofCall: position)
            if time == .infinity, profile.end.isFinite { return next = nil }
        case .times(let times):
            let place = taken * count + index
            guard place < times.count else { return next = nil }
            time = times[place]
        }
        next = time == .infinity || time < until ? time : nil
    }

    /// Between two arrivals of a Poisson process with rate 1.
    private static func gap(_ random: inout SeededRandom) -> Double {
        -log(1 - Double(random.next() >> 11) * 0x1p-53)
    }
}
