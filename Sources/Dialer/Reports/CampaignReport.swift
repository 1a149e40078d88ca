// The reports of a campaign: results.jsonl for scripts, calls.csv for spreadsheets, junit.xml for CI, summary.json, and report.html for
// people. All come from the database, whatever happened before: a run that was killed and resumed reports all of its calls.

package import Basics
import FlowEngine
package import Store

/// What a campaign came to.
package struct CampaignSummary: Equatable, Sendable {
    package var name: String
    package var counts: CampaignStore.Counts
    /// Rows that did not pass, by the final answer of the target, or else by cause.
    package var byStatus: [Int: Int] = [:]
    package var byCause: [String: Int] = [:]
    /// Attempts whose end nobody saw, because the process was killed.
    package var inTheAir = 0
    /// Microseconds to the answer, of all attempts.
    package var answer = Histogram()
    /// Hundredths, of all attempts with audio.
    package var score = Histogram()
    /// Microseconds from the callers' INVITEs to those of the parties; and from one side's audio to the other's.
    package var setUp = Histogram()
    package var latency = Histogram()
    /// Seconds from the first attempt to the last end.
    package var elapsed = 0.0
    package var wasStopped = false
    package var wasCut = false

    /// Every row passed, and none is left.
    package var isPassed: Bool { counts.passed == counts.targets && !wasStopped && !wasCut }

    private static func quantiles(_ histogram: Histogram) -> String {
        [("p50", 0.5), ("p99", 0.99)].map { name, share in
            "\(name) \(Int((Double(histogram.quantile(share)) / 1000).rounded()))"
        }.joined(separator: ", ")
    }

    package var json: JSONText {
        .object([
            ("campaign", .string(name)), ("targets", .count(counts.targets)), ("passed", .count(counts.passed)),
            ("failed", .count(counts.failed)), ("error", .count(counts.error)), ("waiting", .count(counts.waiting)),
            ("attempts", .count(counts.attempts)), ("in_the_air", .count(inTheAir)),
            ("by_status", .object(byStatus.sorted { $0.key < $1.key }.map { (String($0.key), .count($0.value)) })),
            ("by_cause", .object(byCause.sorted { $0.key < $1.key }.map { ($0.key, .count($0.value)) })),
            ("percentiles_ms", .object(percentiles.map { ($0.name, LoadReport.percentiles($0.histogram)) })),
            (
                "mos",
                .object(
                    [("p5", 0.05), ("p50", 0.5)].map { name, share in
                        (name, score.count == 0 ? .null : .number(Double(score.quantile(share)) / 100, digits: 2))
                    })
            ),
            ("elapsed_s", .number(elapsed, digits: 1)), ("stopped", .bool(wasStopped)), ("cut_short", .bool(wasCut))
        ])
    }

    /// Those of parties only where there are any.
    private var percentiles: [(name: String, histogram: Histogram)] {
        [("answer", answer)] + [("setup", setUp), ("latency", latency)].filter { $0.1.count > 0 }
    }

    package var text: String {
        var lines = [
            "\(name): \(Self.counted(counts.targets, "target")), \(counts.passed) passed, \(counts.failed) failed, "
                + "\(Self.counted(counts.error, "error")) of this side"
                + (counts.waiting > 0 ? ", \(counts.waiting) not called" : "")
        ]
        lines.append("  \(Self.counted(counts.attempts, "call")) in \(JSONText.number(elapsed, digits: 1).text) s")
        if setUp.count > 0 { lines.append("  set-up through the system: \(Self.quantiles(setUp)) ms") }
        if latency.count > 0 { lines.append("  audio through the system: \(Self.quantiles(latency)) ms") }
        for (status, count) in byStatus.sorted(by: { $0.key < $1.key }) { lines.append("  \(status): \(count)") }
        for (cause, count) in byCause.sorted(by: { $0.key < $1.key }) { lines.append("  \(cause): \(count)") }
        if inTheAir > 0 {
            let calls = Self.counted(inTheAir, "call")
            lines.append("  \(calls) in the air when the campaign was killed: what became of them is not known")
        }
        if wasStopped { lines.append("  the stop rule ended it: too many calls failed") }
        if wasCut { lines.append("  it was cut short; --resume calls the rest") }
        return lines.joined(separator: "\n")
    }

    private static func counted(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }
}

package enum CampaignReport {
    /// The files, in the order in which they are named to people.
    package static let files = ["report.html", "junit.xml", "results.jsonl", "calls.csv", "summary.json"]

    /// Writes all reports into `folder`. On the database's thread.
    package static func write(
        _ name: String, into folder: String, wasStopped: Bool, wasCut: Bool, _ connection: any StoreConnection
    ) throws(StoreError) -> CampaignSummary {
        var summary = CampaignSummary(name: name, counts: try CampaignStore.counts(connection))
        summary.wasStopped = wasStopped
        summary.wasCut = wasCut
        let span = try CampaignStore.span(connection)
        summary.elapsed = span.map { $0.until - $0.from } ?? 0
        func open(_ name: String) throws(StoreError) -> TextFile {
            guard let file = TextFile("\(folder)/\(name)") else { throw StoreError(.disk, "\(folder)/\(name) cannot be written") }
            return file
        }
        let (results, calls) = (try open("results.jsonl"), try open("calls.csv"))
        let (junit, page, sum) = (try open("junit.xml"), try open("report.html"), try open("summary.json"))
        var html = CampaignPage(name, span, folder: folder)
        calls.write(CallsTable.heading)
        junit.write(JUnit.begin(name, summary.counts, span))
        var rowsSeen = 0
        try CampaignStore.eachAttempt(connection) { row throws(StoreError) in
            results.write(row.result + "\n")
            calls.write(CallsTable.lines(row))
            if let answer = row.answer { summary.answer.record(Int64(answer * 1000)) }
            for party in row.parties {
                if let setUp = party.setUp { summary.setUp.record(Int64(setUp * 1000)) }
                for latency in [party.latency, party.callerLatency].compactMap({ $0 }) {
                    summary.latency.record(Int64(latency * 1000))
                }
            }
            if let score = row.score { summary.score.record(Int64((score * 100).rounded())) }
            html.add(row)
            guard row.isLast else { return }
            rowsSeen += 1
            junit.write(JUnit.testcase(name, row))
            guard row.verdict != .passed else { return }
            if row.detail.hasPrefix(AttemptResult.inTheAir) { summary.inTheAir += 1 }
            if !row.missed.isEmpty {
                summary.byCause["expectation", default: 0] += 1
            } else if row.status >= 300 {
                summary.byStatus[row.status, default: 0] += 1
            } else {
                summary.byCause[row.cause, default: 0] += 1
            }
        }
        junit.write(JUnit.end(name, notCalled: summary.counts.targets - rowsSeen))
        page.write(html.text(summary))
        sum.write(summary.json.text + "\n")
        for file in [results, calls, junit, page, sum] { if let problem = file.finish() { throw StoreError(.disk, problem) } }
        return summary
    }
}

/// calls.csv: one line an attempt, and one more for each party of a test (RFC 4180).
enum CallsTable {
    static let heading =
        "row,attempt,destination,started,result,status,cause,answer_ms,duration_ms,mos,reason,party,setup_ms,latency_ms\r\n"

    static func lines(_ row: ReportRow) -> String {
        var text = line(row)
        for party in row.parties { text += line(party, row) }
        return text
    }

    private static func figure(_ value: Double?, _ digits: Int) -> String {
        value.map { JSONText.number($0, digits: digits).text } ?? ""
    }

    /// The called half: its own verdict and end.
    private static func line(_ party: ReportedParty, _ row: ReportRow) -> String {
        let fields = [
            String(row.row), String(row.number), party.number, Timestamp(secondsSince1970: row.started).rfc3339, party.verdict,
            party.cause.isEmpty ? "" : String(party.status), party.cause, "", figure(party.duration, 1), figure(party.score, 2),
            party.verdict == "passed" ? "" : party.ending, party.name, figure(party.setUp, 1), figure(party.latency, 1)
        ]
        return fields.map(quoted).joined(separator: ",") + "\r\n"
    }

    private static func line(_ row: ReportRow) -> String {
        let fields = [
            String(row.row), String(row.number), row.destination, Timestamp(secondsSince1970: row.started).rfc3339,
            row.verdict.rawValue,
            String(row.status), row.cause, figure(row.answer, 1), figure(row.duration, 1), figure(row.score, 2),
            row.verdict == .passed ? "" : row.reason, row.parties.isEmpty ? "" : "caller", "",
            figure(row.parties.first?.callerLatency, 1)
        ]
        return fields.map(quoted).joined(separator: ",") + "\r\n"
    }

    /// A cell that a spreadsheet would take for a formula begins with an apostrophe, which makes it a text: words of the far end are among
    /// them. Numbers, also of telephones, stay as they are.
    private static func quoted(_ text: String) -> String {
        let isNumber = text.dropFirst().allSatisfy { $0.isNumber || $0 == "." }
        let isFormula = text.first.map { "=+-@\t\r".contains($0) } == true && !isNumber
        let field = isFormula ? "'\(text)" : text
        guard field.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return field }
        return "\"\(field.replacing("\"", with: "\"\""))\""
    }
}

/// junit.xml as GitLab, Jenkins and GitHub read it: one test case a row of the list, with its last attempt.
enum JUnit {
    static func begin(_ name: String, _ counts: CampaignStore.Counts, _ span: (from: Double, until: Double)?) -> String {
        let time = span.map { JSONText.number($0.until - $0.from, digits: 3).text } ?? "0"
        let skipped = counts.waiting > 0 ? 1 : 0
        let numbers =
            "tests=\"\(counts.over + skipped)\" failures=\"\(counts.failed)\" errors=\"\(counts.error)\" "
            + "skipped=\"\(skipped)\" time=\"\(time)\""
        let stamp = span.map { " timestamp=\"\(Timestamp(secondsSince1970: $0.from).rfc3339)\"" } ?? ""
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites \(numbers)>
            <testsuite name="\(Markup.escaped(name))" \(numbers)\(stamp)>

            """
    }

    static func testcase(_ name: String, _ row: ReportRow) -> String {
        let time = JSONText.number(row.ended - row.started, digits: 3).text
        let head =
            "<testcase classname=\"\(Markup.escaped(name))\" name=\"row \(row.row): \(Markup.escaped(row.destination))\" time=\"\(time)\""
        guard row.verdict != .passed else { return head + "/>\n" }
        let tag = row.verdict == .failed ? "failure" : "error"
        let detail = row.detail.isEmpty ? "" : " \(row.detail)"
        var text = "attempt \(row.number) ended: \(row.status) \(row.cause)\(detail)\n"
        for party in row.parties { text += "\(party.name): \(party.ending)\n" }
        for missed in row.missed { text += "expected: \(missed.name)\nactual: \(missed.actual)\n" }
        if let ladder = row.ladder { text += "\n\(ladder)\n" }
        return head + "><\(tag) message=\"\(Markup.escaped(row.reason))\" type=\"\(Markup.escaped(row.cause))\">"
            + Markup.escaped(text) + "</\(tag)></testcase>\n"
    }

    static func end(_ name: String, notCalled: Int) -> String {
        var text = ""
        // Rows that nobody called have no case of their own each: there may be millions.
        if notCalled > 0 {
            text +=
                "<testcase classname=\"\(Markup.escaped(name))\" name=\"\(notCalled) rows\"><skipped message=\"not called\"/></testcase>\n"
        }
        return text + "</testsuite>\n</testsuites>\n"
    }
}
