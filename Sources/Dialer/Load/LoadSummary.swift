// The result of a load run as scripts and people read it: one JSON object (docs/commands.md), or a few lines.

package import Basics

extension LoadReport {
    /// One object, in the order of docs/commands.md.
    package var json: JSONText {
        let statistics = statistics
        var members: [(name: String, value: JSONText)] = [
            (
                "offered",
                .object([
                    ("rate", plannedRate.map { .number($0, digits: 2) } ?? .null),
                    ("calls", .count(plannedCalls ?? statistics.placed))
                ])
            ),
            ("placed", .count(statistics.placed)), ("answered", .count(statistics.answered)),
            ("failed", .count(statistics.failed)),
            ("by_status", .object(statistics.byStatus.sorted { $0.key < $1.key }.map { (String($0.key), .count($0.value)) })),
            ("by_cause", .object(statistics.byCause.sorted { $0.key < $1.key }.map { ($0.key, .count($0.value)) })),
            ("rate_achieved", statistics.rateAchieved.map { .number($0, digits: 2) } ?? .null),
            ("peak_concurrency", .count(statistics.series.intervals.map(\.peak).max() ?? 0)),
            ("percentiles_ms", Self.percentiles(statistics.ringing, statistics.answer, statistics.bye)),
            ("retransmissions", .count(statistics.retransmissions)), ("media", media), ("generator", generator),
            ("findings", .array(findings.map(\.json)))
        ]
        if let far = farEnd.first {
            members.append(("far_end", far.json))
            members.append(("between", between(far)))
        }
        if !workers.isEmpty { members.append(("workers", .array(workers.map(\.json)))) }
        return .object(members)
    }

    /// What left one end and did not come to the other; less than nothing where somebody else calls the far end, too.
    private func between(_ far: LoadReport) -> JSONText {
        func difference(_ one: UInt64, _ other: UInt64) -> JSONText { .number(Double(one) - Double(other), digits: 0) }
        return .object([
            ("calls", .count(statistics.placed - far.statistics.placed)),
            ("answers", .count(far.statistics.answered - statistics.answered)),
            ("packets_there", difference(statistics.sent, far.statistics.received)),
            ("packets_back", difference(far.statistics.sent, statistics.received))
        ])
    }

    private var media: JSONText {
        Self.media(
            sent: statistics.sent, received: statistics.received, lost: statistics.lost, statistics.jitter, statistics.score,
            oneWay: statistics.oneWay)
    }

    /// Audio of a run, or of an interval of it.
    static func media(
        sent: UInt64, received: UInt64, lost: Int64, _ jitter: Histogram, _ score: Histogram, oneWay: Int
    ) -> JSONText {
        func share(_ histogram: Histogram, _ share: Double, _ unit: Double, _ digits: Int) -> JSONText {
            histogram.count == 0 ? .null : .number(Double(histogram.quantile(share)) / unit, digits: digits)
        }
        return .object([
            ("sent", .count(sent)), ("received", .count(received)), ("lost", .count(lost)),
            ("jitter_ms", .object([("p50", share(jitter, 0.5, 1000, 1)), ("p99", share(jitter, 0.99, 1000, 1))])),
            ("mos", .object([("p5", share(score, 0.05, 100, 2)), ("p50", share(score, 0.5, 100, 2))])),
            ("one_way", .count(oneWay))
        ])
    }

    private var generator: JSONText {
        .object([
            ("cpu_s", .number(health.cpu, digits: 2)),
            ("late_timer_ms_p99", .number(Double(health.lateness.quantile(0.99)) / 1000, digits: 1)),
            ("rss_mb", .count(health.residentBytes / 1_000_000)),
            ("limits_hit", .array(health.limitsHit.map { .string($0.rawValue) })),
            ("late_starts", .count(health.lateStarts)), ("held_back", .count(health.heldBack)),
            ("cut_short", .bool(wasCut))
        ])
    }

    static func percentiles(_ ringing: Histogram, _ answer: Histogram, _ bye: Histogram) -> JSONText {
        .object([("ringing", percentiles(ringing)), ("answer", percentiles(answer)), ("bye", percentiles(bye))])
    }

    /// Milliseconds; without values an object without members.
    static func percentiles(_ histogram: Histogram) -> JSONText {
        guard histogram.count > 0 else { return .object([]) }
        let shares = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)].map { name, share in
            (name: name, value: JSONText.number(Double(histogram.quantile(share)) / 1000, digits: 1))
        }
        return .object(shares + [("max", .number(Double(histogram.maximum) / 1000, digits: 1))])
    }

    /// A few lines for a person.
    package var summary: String {
        func figure(_ value: Double, _ digits: Int = 1) -> String { JSONText.number(value, digits: digits).text }
        var lines = [
            "\(statistics.placed) calls \(side == .called ? "came in" : "in") \(figure(elapsed.seconds)) s, "
                + "\(statistics.answered) answered, \(statistics.failed) failed"
        ]
        if let rate = statistics.rateAchieved {
            lines.append("  rate \(figure(rate, 2))/s" + (plannedRate.map { ", offered \(figure($0, 2))/s" } ?? ""))
        }
        for (status, count) in statistics.byStatus.sorted(by: { $0.key < $1.key }) { lines.append("  \(status): \(count)") }
        for (cause, count) in statistics.byCause.sorted(by: { $0.key < $1.key }) { lines.append("  \(cause): \(count)") }
        for (name, histogram) in [("ringing", statistics.ringing), ("answer", statistics.answer), ("bye", statistics.bye)]
        where histogram.count > 0 {
            let shares = [0.5, 0.9, 0.99, 0.999].map { figure(Double(histogram.quantile($0)) / 1000) }
            lines.append(
                "  \(name) ms: p50 \(shares[0]), p90 \(shares[1]), p99 \(shares[2]), p99.9 \(shares[3]), "
                    + "max \(figure(Double(histogram.maximum) / 1000))")
        }
        if statistics.retransmissions > 0 {
            lines.append("  \(statistics.retransmissions) requests were sent again")
        }
        if statistics.sent + statistics.received > 0 {
            lines.append(
                "  audio: \(statistics.sent) packets sent, \(statistics.received) received, \(statistics.lost) lost, "
                    + "\(statistics.oneWay) calls heard nothing")
        }
        lines.append(
            "  this machine: \(figure(health.cpu, 2)) s of CPU, \(side == .called ? "timers" : "starts") \(figure(Double(health.lateness.quantile(0.99)) / 1000)) "
                + "ms late (p99), \(health.residentBytes / 1_000_000) MB")
        for limit in health.limitsHit {
            lines.append("  NOT VALID: this machine reached its own limit (\(limit.rawValue)); \(limit.mend)")
        }
        if !findings.isEmpty { lines.append("  " + findings.map(\.text).joined(separator: "; ")) }
        for far in farEnd {
            let there = "\(statistics.sent) packets there, \(far.statistics.received) came"
            lines.append("far end: \(far.summary)")
            lines.append("between: \(there); \(far.statistics.sent) back, \(statistics.received) came")
        }
        for worker in workers {
            lines.append(
                "  worker \(worker.id): \(worker.placed) calls, \(worker.answered) answered, \(worker.failed) failed"
                    + (worker.isLost ? "; it died, with \(worker.inTheAir) calls in the air at its last sign" : ""))
        }
        if wasCut { lines.append("  it was cut short") }
        return lines.joined(separator: "\n")
    }
}
