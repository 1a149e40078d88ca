// What a load run is to do: plain values, read from the command line by `Server`.

import Basics
package import CallEngine
package import FlowEngine

package struct LoadPlan: Sendable {
    /// What begins calls.
    package enum Source: Equatable, Sendable {
        case arrivals(Arrivals)
        /// So many callers, each of whom calls again `pause` after a call; they come in at `rate` a second.
        case users(Int, pause: Duration, rate: Double)
    }

    /// What an answered call without a flow does until its time is over.
    package enum Media: Equatable, Sendable {
        /// Audio is agreed on, and none is sent.
        case none
        /// Plays this, again and again.
        case play(AudioSource)
        /// Sends back what it hears.
        case echo
    }

    package var request: CallRequest
    package var source: Source
    /// How many calls in all; nil: no limit.
    package var calls: Int?
    /// For how long calls begin; nil: no limit.
    package var duration: Duration?
    /// The most at a time; nil: no limit. Starts that it holds back are made up for, and counted as late.
    package var concurrency: Int?
    package var hold = HoldTime.fixed(10_000)
    package var media = Media.none
    /// What calls do instead of being held; nil: they are held.
    package var flow: Flow? {
        didSet { request.codecs = flow?.codecs }
    }
    /// How long an answer is waited for, without a flow.
    package var answerTimeout = Duration.seconds(60)
    /// Of chance.
    package var seed: UInt64 = 1
    /// The flow's surroundings, made anew for each call on its loop.
    package var environment: @Sendable () -> FlowEnvironment = { FlowEnvironment() }
    /// A mean opinion score from the figures and the codec of a call's audio; nil when there is none.
    package var score: @Sendable (MediaReport, String) -> Double? = { _, _ in nil }

    package init(request: CallRequest, source: Source) {
        self.request = request
        self.source = source
    }

    /// On more loops one of them would have no part of `concurrency`, or no user.
    package var mostLoops: Int {
        if case .users(let users, _, _) = source { users } else { concurrency ?? .max }
    }

    /// How many calls are to begin in all; nil when nobody can know.
    package var plannedCalls: Int? {
        guard case .arrivals(let arrivals) = source else { return calls }
        let end = duration.map(\.seconds) ?? .infinity
        let count =
            switch arrivals {
            case .rate(let profile, poisson: false): arrivals.count(before: min(end, profile.end))
            default: arrivals.count(before: end)
            }
        guard let count else { return calls }
        return min(count, calls ?? .max)
    }

    /// Calls a second on average, as planned; nil when nobody can know.
    package var plannedRate: Double? {
        guard case .arrivals(let arrivals) = source else { return nil }
        switch arrivals {
        case .rate(let profile, _):
            let end = min(
                duration.map(\.seconds) ?? .infinity, profile.end, calls.map { profile.time(ofCall: Double($0)) } ?? .infinity)
            return end.isFinite && end > 0 ? profile.calls(by: end) / end : profile.rate(at: 0)
        case .times(let times):
            guard let first = times.first, let last = times.last, last > first else { return nil }
            return Double(times.count - 1) / (last - first)
        }
    }
}
