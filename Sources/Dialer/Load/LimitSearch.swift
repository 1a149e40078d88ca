// At which rate does the target begin to fail? Steps up until a limit is crossed, then closes in between the last good rate and the
// first bad one. Pure: results of steps in, the next rate out.

package import Basics

/// What a target must keep to.
package struct LimitRules: Equatable, Sendable {
    /// The share of calls that may fail, 0 to 1.
    package var failures = 0.01
    /// How long the answers of 99 in 100 calls may take, milliseconds; nil: as long as they like.
    package var answer: Double?
    /// What 19 of 20 calls have to score; nil: anything.
    package var score: Double?

    package init() {}

    /// Which rule a run broke, in words; nil: none.
    package func broken(by statistics: LoadStatistics) -> String? {
        let failed = Double(statistics.failed) / Double(max(1, statistics.placed))
        func figure(_ value: Double) -> String { JSONText.number(value, digits: 2).text }
        if failed > failures { return "\(figure(failed * 100))% of the calls failed (allowed: \(figure(failures * 100))%)" }
        let answered = Double(statistics.answer.quantile(0.99)) / 1000
        if let answer, statistics.answer.count > 0, answered > answer {
            return "answers took \(figure(answered)) ms at p99 (allowed: \(figure(answer)) ms)"
        }
        let heard = Double(statistics.score.quantile(0.05)) / 100
        if let score, statistics.score.count > 0, heard < score {
            return "one call in twenty scored \(figure(heard)) or less (wanted: \(figure(score)))"
        }
        return nil
    }
}

/// The search for the highest rate that keeps to the rules.
package struct LimitSearch: Sendable {
    package struct Step: Equatable, Sendable {
        package var rate: Double
        package var placed: Int
        package var failed: Int
        /// Milliseconds at p99; nil without answers.
        package var answer: Double?
        package var score: Double?
        /// Which rule was broken; nil: the rate is good.
        package var reason: String?
    }

    package enum Outcome: Equatable, Sendable {
        /// Good up to this rate; the reason is that of the lowest bad one.
        case found(rate: Double, reason: String)
        /// Even the first rate was too much.
        case belowFirst(reason: String)
        /// Good as far as was tried.
        case notReached(rate: Double)
        /// This machine could not go on: the target is good up to this rate at least; 0: nothing is known.
        case ownLimit(rate: Double)
        /// Somebody ended it.
        case cut(rate: Double)
    }

    package private(set) var steps: [Step] = []
    package private(set) var outcome: Outcome?
    /// What the next step is to try; meaningless once there is an outcome.
    package private(set) var rate: Double
    private let most: Double
    private var good = 0.0
    private var bad: Step?
    private static let growth = 1.5
    /// Good and bad rates so near to each other are as good as known.
    private static let precision = 0.05

    /// - Parameters:
    ///   - first: the rate to begin with, over 0.
    ///   - most: never tried beyond.
    package init(first: Double, most: Double) {
        rate = min(first, most)
        self.most = most
    }

    /// A step is over. `isSpoiled`: this machine reached its own limit in it.
    package mutating func add(_ step: Step, isSpoiled: Bool, wasCut: Bool) {
        steps.append(step)
        if wasCut { return outcome = .cut(rate: good) }
        if isSpoiled { return outcome = .ownLimit(rate: good) }
        if step.reason == nil { good = step.rate } else { bad = step }
        guard let bad else {
            guard good < most else { return outcome = .notReached(rate: good) }
            rate = min(most, good * Self.growth)
            return
        }
        let reason = bad.reason ?? ""
        if bad.rate - good <= bad.rate * Self.precision {
            outcome = good > 0 ? .found(rate: good, reason: reason) : .belowFirst(reason: reason)
        } else {
            rate = (good + bad.rate) / 2
            // Below the first rate it is halved a few times only: nobody wants to know the last call an hour.
            if good == 0, steps.count >= 6 { outcome = .belowFirst(reason: reason) }
        }
    }

    /// One object: the limit, the reason, and the curve.
    package var json: JSONText {
        let (rate, reason, word): (Double?, String, String) =
            switch outcome {
            case .found(let rate, let reason): (rate, reason, "found")
            case .belowFirst(let reason): (0, reason, "below-first")
            case .notReached(let rate): (rate, "no limit up to this rate", "not-reached")
            case .ownLimit(let rate): (rate, "this machine reached its own limit", "own-limit")
            case .cut(let rate): (rate, "cut short", "cut-short")
            case nil: (nil, "", "running")
            }
        let curve = steps.map { step in
            JSONText.object([
                ("rate", .number(step.rate, digits: 2)), ("placed", .count(step.placed)), ("failed", .count(step.failed)),
                ("answer_ms_p99", step.answer.map { .number($0, digits: 1) } ?? .null),
                ("mos_p5", step.score.map { .number($0, digits: 2) } ?? .null),
                ("reason", step.reason.map { .string($0) } ?? .null)
            ])
        }
        return .object([
            ("outcome", .string(word)), ("rate", rate.map { .number($0, digits: 2) } ?? .null), ("reason", .string(reason)),
            ("steps", .array(curve))
        ])
    }

    package var summary: String {
        func figure(_ value: Double) -> String { JSONText.number(value, digits: 2).text }
        var lines: [String] = []
        switch outcome {
        case .found(let rate, let reason): lines.append("the limit is \(figure(rate)) calls a second; above it: \(reason)")
        case .belowFirst(let reason): lines.append("the limit is below the rates that were tried: \(reason)")
        case .notReached(let rate): lines.append("no limit up to \(figure(rate)) calls a second")
        case .ownLimit(let rate) where rate > 0:
            lines.append(
                "the target is good for \(figure(rate)) calls a second at least; beyond, this machine reached its own limit")
        case .ownLimit: lines.append("this machine reached its own limit at the first rate: nothing is known about the target")
        case .cut(let rate): lines.append("cut short; good up to \(figure(rate)) calls a second")
        case nil: break
        }
        for step in steps.sorted(by: { $0.rate < $1.rate }) {
            let answer = step.answer.map { ", answer p99 \(figure($0)) ms" } ?? ""
            lines.append(
                "  \(figure(step.rate))/s: \(step.placed) calls, \(step.failed) failed\(answer)"
                    + (step.reason == nil ? "" : "  too much"))
        }
        return lines.joined(separator: "\n")
    }
}

extension LimitSearch.Step {
    package init(rate: Double, _ statistics: LoadStatistics, rules: LimitRules) {
        self.init(
            rate: rate, placed: statistics.placed, failed: statistics.failed,
            answer: statistics.answer.count > 0 ? Double(statistics.answer.quantile(0.99)) / 1000 : nil,
            score: statistics.score.count > 0 ? Double(statistics.score.quantile(0.05)) / 100 : nil,
            reason: rules.broken(by: statistics))
    }
}
