// report.html of a campaign: what came of it, over time, and every call that did not pass with what was missed and its ladder.

import Basics
import FlowEngine

struct CampaignPage {
    private let name: String
    private let folder: String
    private var room = CallAudio.most
    private let from: Double
    private let step: Double
    /// Calls that began minus those that ended, in each step.
    private var changes: [Int]
    private var answers: [(sum: Double, count: Int)]
    private var failures = ""
    private var failureCount = 0
    /// More would make a page that no browser likes; the rest is in the other files.
    private static let most = 1000
    private static let steps = 240

    /// - Parameter folder: where the recordings are.
    init(_ name: String, _ span: (from: Double, until: Double)?, folder: String) {
        self.name = name
        self.folder = folder
        from = span?.from ?? 0
        step = max(1, ((span?.until ?? 0) - from) / Double(Self.steps))
        let count = Int(((span?.until ?? 0) - from) / step) + 2
        changes = [Int](repeating: 0, count: count)
        answers = [(Double, Int)](repeating: (0, 0), count: count)
    }

    mutating func add(_ row: ReportRow) {
        changes[index(row.started)] += 1
        changes[min(changes.count - 1, index(row.ended) + 1)] -= 1
        if let answer = row.answer {
            answers[index(row.started)].sum += answer
            answers[index(row.started)].count += 1
        }
        guard row.verdict != .passed, row.isLast else { return }
        failureCount += 1
        guard failureCount <= Self.most else { return }
        failures += "<tr><td>\(row.row)</td><td>\(Markup.escaped(row.destination))</td>"
        failures += "<td class='bad'>\(row.verdict.rawValue)</td><td>\(Markup.escaped(row.reason))"
        if !row.missed.isEmpty {
            failures += "<table><tr><th>expected</th><th>actual</th></tr>"
            for missed in row.missed {
                failures += "<tr><td>\(Markup.escaped(missed.name))</td><td>\(Markup.escaped(missed.actual))</td></tr>"
            }
            failures += "</table>"
        }
        let halves = halves(row)
        failures += halves
        if let ladder = row.ladder {
            failures += "<details><summary>messages</summary><pre>\(Markup.escaped(ladder))</pre></details>"
        }
        failures += "</td><td>\(row.number)</td><td>\(Timestamp(secondsSince1970: row.started).rfc3339)</td></tr>\n"
    }

    /// The call's audio; of a test, each half's end with its own.
    private mutating func halves(_ row: ReportRow) -> String {
        var text = row.parties.isEmpty ? "" : "<p>caller: \(row.status) \(Markup.escaped(row.cause))</p>"
        text += audio(row, nil)
        for party in row.parties {
            text += "<p>\(Markup.escaped(party.name)): \(Markup.escaped(party.ending))</p>"
            text += audio(row, party.name)
        }
        return text
    }

    private mutating func audio(_ row: ReportRow, _ party: String?) -> String {
        let path = CallAudio.path(row: row.row, attempt: row.number, party: party)
        return CallAudio.figure(path, in: folder, room: &room) ?? ""
    }

    private func index(_ wall: Double) -> Int { max(0, min(changes.count - 1, Int((wall - from) / step))) }

    func text(_ summary: CampaignSummary) -> String {
        let counts = summary.counts
        var text = Page.begin(name)
        var tiles = [
            ("targets", "\(counts.targets)"), ("passed", "\(counts.passed)"), ("failed", "\(counts.failed)"),
            ("errors of this side", "\(counts.error)"), ("calls", "\(counts.attempts)")
        ]
        if counts.waiting > 0 { tiles.append(("not called", "\(counts.waiting)")) }
        text += Page.tiles(tiles.map { (name: $0.0, value: $0.1) })
        if summary.wasStopped { text += "<p class='bad'>The stop rule ended it: too many calls failed.</p>" }
        if summary.wasCut { text += "<p class='bad'>It was cut short.</p>" }
        if summary.inTheAir > 0 {
            text +=
                "<p class='bad'>\(summary.inTheAir) calls were in the air when the campaign was killed: what became of them is not known.</p>"
        }
        text += "<div class='charts'>"
        let reasons =
            summary.byStatus.map { (String($0.key), $0.value, Page.bad) }.sorted { $0.0 < $1.0 }
            + summary.byCause.map { ($0.key, $0.value, $0.key == "error" ? Page.other : Page.bad) }.sorted { $0.0 < $1.0 }
        text += Chart.bars(
            "Outcomes", ([("passed", counts.passed, Page.good)] + reasons).map { (label: $0.0, value: Double($0.1), color: $0.2) }
        )
        var active = 0
        let concurrency = changes.map { change -> Double? in
            active += change
            return Double(active)
        }
        text += Chart.lines("Calls at a time", step: step, [(name: "", color: Page.plain, values: concurrency)])
        if summary.answer.count > 0 {
            text += Chart.histogram("Time to the answer, ms", summary.answer, unit: 1000, color: Page.plain)
            let means = answers.map { $0.count == 0 ? nil : $0.sum / Double($0.count) }
            text += Chart.lines("Time to the answer over time, ms", step: step, [(name: "", color: Page.plain, values: means)])
        }
        if summary.setUp.count > 0 {
            text += Chart.histogram("Set-up through the system, ms", summary.setUp, unit: 1000, color: Page.plain)
        }
        if summary.latency.count > 0 {
            text += Chart.histogram("Audio through the system, ms", summary.latency, unit: 1000, color: Page.plain)
        }
        if summary.score.count > 0 { text += Chart.histogram("Mean opinion score", summary.score, unit: 100, color: Page.plain) }
        text += "</div>"
        if failureCount > 0 {
            text += "<h2>Calls that did not pass</h2>"
            if failureCount > Self.most {
                text += "<p>The first \(Self.most) of \(failureCount); all are in results.jsonl and calls.csv.</p>"
            }
            text += "<table><tr><th>row</th><th>destination</th><th>result</th><th>why</th><th>attempt</th><th>began</th></tr>\n"
            text += failures + "</table>"
        }
        return text + Page.end
    }
}
