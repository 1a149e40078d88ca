// Who is to blame for what a load run shows: the target, with its way to here, or this machine. What this machine spoiled says nothing
// about the target. At the far end it is who calls, and what the own flow refuses is nobody's fault.

import Basics

/// Something that did not go as it should.
package struct LoadFinding: Equatable, Sendable {
    package enum Side: String, Sendable {
        /// The target, or the network between.
        case target
        /// At the far end: the caller, or the network between.
        case caller
        /// At the far end: its flow refused the calls.
        case flow
        case thisMachine = "this-machine"
    }

    package var by: Side
    /// A status, a cause, an own limit, or one of `no-audio`, `lost-audio`, `uneven-audio`, `slow-answers`, `slow-to-react`.
    package var what: String
    /// How many calls; nil when it is not a matter of single ones.
    package var calls: Int?

    package init(_ side: Side, _ what: String, calls: Int? = nil) {
        (by, self.what, self.calls) = (side, what, calls)
    }

    var json: JSONText {
        .object([("by", .string(by.rawValue)), ("what", .string(what)), ("calls", calls.map { .count($0) } ?? .null)])
    }

    var text: String {
        let words =
            switch by {
            case .target: "the target"
            case .caller: "the caller"
            case .flow: "the flow"
            case .thisMachine: "this machine"
            }
        return "\(words): \(what)" + (calls.map { " (\($0) calls)" } ?? "")
    }
}

extension LoadReport {
    /// Shares and times beyond which audio and answers are a finding.
    private static let lostShare = 0.01
    private static let unevenMicroseconds: Int64 = 30_000
    private static let slowAnswerMicroseconds: Int64 = 4_000_000
    private static let repeatedShare = 0.01

    /// Empty: all went as it should. The most calls first, for each side.
    package var findings: [LoadFinding] {
        var own = health.limitsHit.map { LoadFinding(.thisMachine, $0.rawValue) }
        // A call that this side could not place or carry on, whatever the reason.
        if let errors = statistics.byCause["error"] { own.append(LoadFinding(.thisMachine, "error", calls: errors)) }
        guard own.isEmpty else { return own }
        let other: LoadFinding.Side = side == .calling ? .target : .caller
        let reasons =
            statistics.byStatus.map {
                LoadFinding(side == .calling ? .target : .flow, String($0.key), calls: $0.value)
            } + statistics.byCause.map { LoadFinding(other, $0.key, calls: $0.value) }
        var findings = reasons.sorted { ($1.calls ?? 0, $0.what) < ($0.calls ?? 0, $1.what) }
        if statistics.oneWay > 0 { findings.append(LoadFinding(other, "no-audio", calls: statistics.oneWay)) }
        let expected = Double(statistics.received) + Double(statistics.lost)
        if Double(statistics.lost) > expected * Self.lostShare { findings.append(LoadFinding(other, "lost-audio")) }
        if statistics.jitter.quantile(0.95) > Self.unevenMicroseconds { findings.append(LoadFinding(other, "uneven-audio")) }
        // When calls are answered here is the flow's own choice.
        if side == .calling, statistics.answer.quantile(0.95) > Self.slowAnswerMicroseconds {
            findings.append(LoadFinding(other, "slow-answers"))
        }
        if Double(statistics.retransmissions) > Double(statistics.placed) * Self.repeatedShare {
            findings.append(LoadFinding(other, "slow-to-react"))
        }
        return findings
    }
}
