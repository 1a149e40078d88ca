// report.html of a load run: rate, answers, failures and calls at a time by the second, and how long answers took.

import Basics

extension LoadReport {
    /// The whole page.
    package func page(title: String) -> String {
        var text = Page.begin(title) + body
        if let far = farEnd.first {
            text += comparison(with: far)
            text += "<h2>The far end</h2>\n" + far.body
        }
        return text + Page.end
    }

    /// Both halves side by side.
    private func comparison(with far: LoadReport) -> String {
        func figure(_ value: Double) -> String { JSONText.number(value, digits: 1).text }
        func answer(_ report: LoadReport) -> String {
            report.statistics.answer.count == 0 ? "–" : figure(Double(report.statistics.answer.quantile(0.99)) / 1000)
        }
        let rows: [(String, String, String)] = [
            ("calls", "\(statistics.placed)", "\(far.statistics.placed)"),
            ("answered", "\(statistics.answered)", "\(far.statistics.answered)"),
            ("failed", "\(statistics.failed)", "\(far.statistics.failed)"),
            ("answer, ms (p99)", answer(self), answer(far)),
            ("packets from the caller: sent, received", "\(statistics.sent)", "\(far.statistics.received)"),
            ("packets to the caller: received, sent", "\(statistics.received)", "\(far.statistics.sent)"),
            ("calls that heard nothing", "\(statistics.oneWay)", "\(far.statistics.oneWay)")
        ]
        return "<h2>Both halves</h2>\n<table><tr><th></th><th>calling</th><th>called</th></tr>"
            + rows.map { "<tr><td>\($0.0)</td><td>\($0.1)</td><td>\($0.2)</td></tr>" }.joined() + "</table>\n"
    }

    /// What is below its title.
    var body: String {
        func figure(_ value: Double, _ digits: Int = 1) -> String { JSONText.number(value, digits: digits).text }
        var text = ""
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
            (
                side == .called ? "timers late, ms (p99)" : "starts late, ms (p99)",
                figure(Double(health.lateness.quantile(0.99)) / 1000)
            )
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
            "Time to the answer, ms", step: length,
            [
                line("p50", Page.good) { $0.answer(within: 0.5) }, line("p99", Page.other) { $0.answer(within: 0.99) },
                line("p99.9", Page.bad) { $0.answer(within: 0.999) }
            ])
        if statistics.retransmissions > 0 {
            text += Chart.lines(
                "Requests sent again", step: length, [line("", Page.bad) { Double($0.retransmissions) }])
        }
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
        return text + "</div>\n"
    }
}
