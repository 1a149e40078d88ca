// report.html of a load run: rate, answers, failures and calls at a time by the second, and how long answers took.

import Basics

extension LoadReport {
    /// The whole page.
    package func page(title: String) -> String {
        func figure(_ value: Double, _ digits: Int = 1) -> String { JSONText.number(value, digits: digits).text }
        var text = Page.begin(title)
        for limit in health.limitsHit {
            text +=
                "<p class='bad'>Not valid: this machine reached its own limit (\(limit.rawValue)); \(Markup.escaped(limit.mend)).</p>"
        }
        if wasCut { text += "<p class='bad'>It was cut short.</p>" }
        text += Page.tiles([
            ("calls", "\(statistics.placed)"), ("answered", "\(statistics.answered)"), ("failed", "\(statistics.failed)"),
            ("calls a second", statistics.rateAchieved.map { figure($0, 2) } ?? "–"),
            ("most at a time", "\(statistics.series.intervals.map(\.peak).max() ?? 0)"),
            ("answer, ms (p99)", statistics.answer.count > 0 ? figure(Double(statistics.answer.quantile(0.99)) / 1000) : "–"),
            ("starts late, ms (p99)", figure(Double(health.lateness.quantile(0.99)) / 1000))
        ])
        let series = statistics.series
        let length = Double(series.length)
        func line(_ name: String, _ color: String, _ value: (IntervalSeries.Interval) -> Double?) -> (
            name: String, color: String, values: [Double?]
        ) {
            (name: name, color: color, values: series.intervals.map(value))
        }
        text += "<div class='charts'>"
        text += Chart.lines(
            "Calls a second", step: length,
            [
                line("begun", Page.plain) { Double($0.placed) / length },
                line("failed", Page.bad) { Double($0.failed) / length }
            ])
        text += Chart.lines("Calls at a time", step: length, [line("", Page.plain) { Double($0.peak) }])
        text += Chart.lines(
            "Time to the answer, ms (mean)", step: length,
            [line("", Page.plain) { $0.answerMean }])
        if statistics.score.count > 0 {
            text += Chart.lines("Mean opinion score (mean)", step: length, [line("", Page.plain) { $0.scoreMean }])
            text += Chart.lines("Lost packets, %", step: length, [line("", Page.bad) { $0.lossShare.map { $0 * 100 } }])
            text += Chart.lines("Jitter, ms (mean)", step: length, [line("", Page.plain) { $0.jitterMean }])
        }
        if statistics.answer.count > 0 {
            text += Chart.histogram("Time to the answer, ms", statistics.answer, unit: 1000, color: Page.plain)
        }
        if statistics.score.count > 0 {
            text += Chart.histogram("Mean opinion score", statistics.score, unit: 100, color: Page.plain)
        }
        let reasons =
            statistics.byStatus.sorted { $0.key < $1.key }.map { (String($0.key), $0.value) }
            + statistics.byCause.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        if !reasons.isEmpty {
            text += Chart.bars("Failures", reasons.map { (label: $0.0, value: Double($0.1), color: Page.bad) })
        }
        return text + "</div>" + Page.end
    }
}
