// report.html of a search for the limit: the curve of what was measured at each rate, then the last run.

import Basics

extension LimitSearch {
    /// The whole page.
    /// - Parameter last: the run at the rate that was tried last.
    package func page(title: String, last: LoadReport) -> String {
        let words = summary.split(separator: "\n").first.map(String.init) ?? ""
        var text = Page.begin(title) + "<p><b>\(Markup.escaped(words))</b></p>\n<div class='charts'>"
        text += bars("Failed calls by rate, %") { Double($0.failed) / Double(max(1, $0.placed)) * 100 }
        text += bars("Time to the answer by rate, ms (p99)") { $0.answer }
        if steps.contains(where: { $0.score != nil }) {
            text += bars("Mean opinion score by rate (5% of the calls are below)") { $0.score }
        }
        text += "</div>\n<h2>The last run: \(JSONText.number(steps.last?.rate ?? 0, digits: 2).text) calls a second</h2>\n"
        return text + last.body + Page.end
    }

    /// A bar a step, in the order of the rates; those that broke a rule are marked.
    private func bars(_ title: String, _ value: (Step) -> Double?) -> String {
        Chart.bars(
            title,
            steps.sorted { $0.rate < $1.rate }.compactMap { step in
                value(step).map {
                    (
                        label: JSONText.number(step.rate, digits: 1).text, value: $0,
                        color: step.reason == nil ? Page.good : Page.bad
                    )
                }
            })
    }
}
