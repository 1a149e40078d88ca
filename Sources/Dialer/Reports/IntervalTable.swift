// intervals.csv of a load run: its figures by the second, or by as many seconds as an interval has.

import Basics

extension IntervalSeries {
    /// With a header row. A figure of which there is nothing is an empty cell; failures are `503=4 no-answer=1`, by their number.
    package var table: String {
        func figure(_ value: Double?, _ digits: Int) -> String { value.map { JSONText.number($0, digits: digits).text } ?? "" }
        var text = "second,placed,answered,failed,peak_concurrency,answer_ms_mean,answer_ms_max,"
        text += "lost_percent,jitter_ms_mean,mos_mean,one_way,failures\n"
        for (index, interval) in intervals.enumerated() {
            let failures = interval.failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            let cells = [
                "\(index * length)", "\(interval.placed)", "\(interval.answered)", "\(interval.failed)", "\(interval.peak)",
                figure(interval.answerMean, 1), figure(interval.answerCount == 0 ? nil : interval.answerMost, 1),
                figure(interval.lossShare.map { $0 * 100 }, 2), figure(interval.jitterMean, 2), figure(interval.scoreMean, 2),
                "\(interval.oneWay)", failures.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
            ]
            text += cells.joined(separator: ",") + "\n"
        }
        return text
    }
}
