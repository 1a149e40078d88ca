// The files of `--report`, of a load run and of its far end.

import Basics
package import Dialer

package enum LoadFiles {
    /// Each file is there whole or as it was before.
    package static func write(_ report: LoadReport, page: String, into folder: String) throws(CommandFailure) {
        try write(report.json.text + "\n", to: "\(folder)/summary.json")
        try write(report.statistics.series, to: "\(folder)/intervals")
        if let far = report.farEnd.first { try write(far.statistics.series, to: "\(folder)/far-end-intervals") }
        try write(page, to: "\(folder)/report.html")
    }

    private static func write(_ series: IntervalSeries, to path: String) throws(CommandFailure) {
        try write(series.table, to: "\(path).csv")
        try write(series.lines, to: "\(path).jsonl")
    }

    static func write(_ text: String, to path: String) throws(CommandFailure) {
        guard let file = TextFile(path) else { throw CommandFailure(.unable, "\(path) cannot be written") }
        file.write(text)
        if let problem = file.finish() { throw CommandFailure(.unable, problem) }
    }
}
