package import Basics

/// What may come in: a pure counter that every new incoming call passes. Refused calls get 503 with Retry-After.
package struct Admission {
    package struct Limits: Equatable, Sendable {
        /// Calls at a time, both directions.
        package var calls: Int
        /// New incoming calls a second, over all sources; bursts up to one second's worth pass.
        package var callsPerSecond: Double
        /// New incoming calls a second from one address; nil: no limit.
        package var perSource: Double?
        /// A loop whose timers stay so late for a second takes no new calls; nil: it takes them.
        package var lag: Duration?

        package init(
            calls: Int = 5000, callsPerSecond: Double = 200, perSource: Double? = nil, lag: Duration? = .milliseconds(100)
        ) {
            self.calls = calls
            self.callsPerSecond = callsPerSecond
            self.perSource = perSource
            self.lag = lag
        }
    }

    package enum Verdict: Equatable, Sendable {
        case admitted
        /// Too many; `retryAfter` in whole seconds.
        case refused(Refusal, retryAfter: Int)
    }

    package enum Refusal: String, Sendable, CaseIterable {
        case calls
        case callsPerSecond = "calls-per-second"
        case perSource = "per-source"
        case draining
        /// The loop does not keep up; `admit` does not say this, the loop's `LagWatch` does.
        case busy
        /// No RTP port or descriptor was left; `admit` does not say this, the media does.
        case ports
    }

    package let limits: Limits
    /// While true nothing new is taken: the server is going down.
    package var isDraining = false
    private var overall: TokenBucket
    private var sources: [IPAddress: TokenBucket] = [:]
    /// Sources that are remembered at most; when full, those whose bucket is full again are forgotten.
    private static let sourceCapacity = 10_000

    package init(limits: Limits) {
        self.limits = limits
        overall = TokenBucket(rate: limits.callsPerSecond)
    }

    /// Decides about a new call from `source`, while `active` calls run.
    package mutating func admit(from source: IPAddress, active: Int, at now: Instant) -> Verdict {
        if isDraining { return .refused(.draining, retryAfter: 30) }
        if active >= limits.calls { return .refused(.calls, retryAfter: 5) }
        if let rate = limits.perSource {
            if sources.count >= Self.sourceCapacity { sources = sources.filter { !$0.value.isFull(at: now) } }
            guard sources.count < Self.sourceCapacity || sources[source] != nil,
                sources[source, default: TokenBucket(rate: rate)].take(at: now)
            else { return .refused(.perSource, retryAfter: 1) }
        }
        guard overall.take(at: now) else { return .refused(.callsPerSecond, retryAfter: 1) }
        return .admitted
    }
}

/// A bucket that fills at `rate` tokens a second up to one second's worth (at least one token).
struct TokenBucket {
    private let rate: Double
    private let capacity: Double
    private var tokens: Double
    private var filled: Instant?

    init(rate: Double) {
        self.rate = rate
        capacity = max(rate, 1)
        tokens = capacity
    }

    mutating func take(at now: Instant) -> Bool {
        tokens = level(at: now)
        filled = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    func isFull(at now: Instant) -> Bool { level(at: now) >= capacity }

    private func level(at now: Instant) -> Double {
        guard let filled else { return tokens }
        return min(capacity, tokens + (now - filled).seconds * rate)
    }
}
