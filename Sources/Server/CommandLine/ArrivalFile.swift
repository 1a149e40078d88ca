// The file of `--arrivals`: when the calls of a real day began.

import Dialer
import Foundation

enum ArrivalFile {
    /// The seconds of the column `time`, or of the first one, in order and counted from the first. Times may be whole or fractions.
    static func read(_ path: String) throws(CommandFailure) -> [Double] {
        let rows: CSVReader
        do throws(CSVProblem) {
            rows = try CSVReader(path: path)
        } catch {
            throw CommandFailure(.wrong, "\(error)")
        }
        var times: [Double] = []
        var column = 0
        do throws(CSVProblem) {
            while let row = try rows.next() {
                if times.isEmpty, row.fields.first.flatMap({ Double($0) }) == nil, column == 0, rows.row == 1 {
                    column = row.fields.firstIndex { $0.lowercased() == "time" } ?? 0
                    continue
                }
                guard column < row.fields.count, let time = Double(row.fields[column]), time.isFinite else {
                    throw CSVProblem(
                        path: path, line: row.line, message: "no number of seconds in column \(column + 1)",
                        mend: "write seconds, such as 12.5")
                }
                times.append(time)
            }
        } catch {
            throw CommandFailure(.wrong, "\(error)")
        }
        guard !times.isEmpty else { throw CommandFailure(.wrong, "\(path): there are no arrivals in it") }
        times.sort()
        let first = times[0]
        return times.map { $0 - first }
    }
}
