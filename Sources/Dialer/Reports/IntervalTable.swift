// intervals.csv and intervals.jsonl of a load run: its figures by the second, or by as many seconds as an interval has.

import Basics

extension IntervalSeries {
    private static let shares = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)]

    /// Milliseconds; without values nil each.
    private static func milliseconds(_ histogram: Histogram) -> [(name: String, value: Double?)] {
        let shares = Self.shares.map { ($0.0, Double(histogram.quantile($0.1))) } + [("max", Double(histogram.maximum))]
        return shares.map { (name: $0.0, value: histogram.count == 0 ? nil : $0.1 / 1000) }
    }

    /// With a header row. A figure of which there is nothing is an empty cell; failures are `503=4 no-answer=1`, by their number.
    package var table: String {
        func figure(_ value: Double?, _ digits: Int) -> String { value.map { JSONText.number($0, digits: digits).text } ?? "" }
        var text = ""
        for (index, interval) in intervals.enumerated() {
            let failures = interval.failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            var cells = [
                ("second", "\(index * length)"), ("placed", "\(interval.placed)"), ("answered", "\(interval.answered)"),
                ("failed", "\(interval.failed)"), ("peak_concurrency", "\(interval.peak)")
            ]
            for (name, histogram) in [("ringing", interval.ringing), ("answer", interval.answer), ("bye", interval.bye)] {
                cells += Self.milliseconds(histogram).map { ("\(name)_ms_\($0.name)", figure($0.value, 1)) }
            }
            cells += [
                ("answer_ms_mean", figure(interval.answerMean, 1)), ("retransmissions", "\(interval.retransmissions)"),
                ("sent", "\(interval.sent)"), ("received", "\(interval.received)"), ("lost", "\(interval.lost)"),
                ("lost_percent", figure(interval.lossShare.map { $0 * 100 }, 2)),
                ("jitter_ms_mean", figure(interval.jitterMean, 2)), ("jitter_ms_p99", figure(interval.jitterMost, 2)),
                ("mos_mean", figure(interval.scoreMean, 2)), ("mos_p5", figure(interval.scoreLeast, 2)),
                ("one_way", "\(interval.oneWay)"), ("failures", failures.map { "\($0.key)=\($0.value)" }.joined(separator: " "))
            ]
            if index == 0 { text = cells.map(\.0).joined(separator: ",") + "\n" }
            text += cells.map(\.1).joined(separator: ",") + "\n"
        }
        return text
    }

    /// One object an interval, with the words of `summary.json`.
    package var lines: String {
        intervals.enumerated().map { index, interval in
            let (statuses, causes) = interval.reasons
            return JSONText.object([
                ("second", .count(index * length)), ("seconds", .count(length)), ("placed", .count(interval.placed)),
                ("answered", .count(interval.answered)), ("failed", .count(interval.failed)),
                ("by_status", .object(statuses)), ("by_cause", .object(causes)), ("peak_concurrency", .count(interval.peak)),
                ("percentiles_ms", LoadReport.percentiles(interval.ringing, interval.answer, interval.bye)),
                ("retransmissions", .count(interval.retransmissions)),
                (
                    "media",
                    LoadReport.media(
                        sent: interval.sent, received: interval.received, lost: interval.lost, interval.jitter, interval.score,
                        oneWay: interval.oneWay)
                )
            ]).text + "\n"
        }.joined()
    }
}

extension IntervalSeries.Interval {
    /// Milliseconds; nil where no call was answered.
    package var answerMean: Double? { answer.count == 0 ? nil : answer.mean / 1000 }
    /// Milliseconds that `share` of the answers did not exceed; nil as above.
    package func answer(within share: Double) -> Double? { answer.count == 0 ? nil : Double(answer.quantile(share)) / 1000 }
    /// Milliseconds; nil where no call that ended heard anything.
    package var jitterMean: Double? { jitter.count == 0 ? nil : jitter.mean / 1000 }
    var jitterMost: Double? { jitter.count == 0 ? nil : Double(jitter.quantile(0.99)) / 1000 }
    /// Mean opinion score; nil as above.
    package var scoreMean: Double? { score.count == 0 ? nil : score.mean / 100 }
    var scoreLeast: Double? { score.count == 0 ? nil : Double(score.quantile(0.05)) / 100 }

    /// Failures by status and by cause.
    fileprivate var reasons: (statuses: [(name: String, value: JSONText)], causes: [(name: String, value: JSONText)]) {
        let sorted = failures.sorted { $0.key < $1.key }.map { (name: $0.key, value: JSONText.count($0.value)) }
        return (sorted.filter { Int($0.name) != nil }, sorted.filter { Int($0.name) == nil })
    }
}
