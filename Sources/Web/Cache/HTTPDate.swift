// Dates of HTTP. RFC 9110 section 5.6.7: the usual form, and the two that old servers send.
import Basics

package enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Seconds since 1970; nil for what is no date.
    package static func seconds(_ text: String) -> Double? {
        let parts = text.split(separator: " ").map(String.init)
        switch parts.count {
        // Sun, 06 Nov 1994 08:49:37 GMT
        case 6 where parts[5] == "GMT": return seconds(parts[1], parts[2], Int(parts[3]), parts[4])
        // Sunday, 06-Nov-94 08:49:37 GMT: a year that would lie more than 50 years ahead is a past one.
        case 4 where parts[3] == "GMT":
            let date = parts[1].split(separator: "-").map(String.init)
            guard date.count == 3, date[2].utf8.count == 2, let year = Int(date[2]) else { return nil }
            return seconds(date[0], date[1], year + (year >= 70 ? 1900 : 2000), parts[2])
        // Sun Nov  6 08:49:37 1994
        case 5: return seconds(parts[2], parts[1], Int(parts[4]), parts[3])
        default: return nil
        }
    }

    private static func seconds(_ day: String, _ month: String, _ year: Int?, _ time: String) -> Double? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
        guard let year, (1900...9999).contains(year), let month = months.firstIndex(of: month).map({ $0 + 1 }),
            let day = Int(day), (1...CivilDate.days(inMonth: month, year: year)).contains(day), clock.count == 3,
            (0...23).contains(clock[0]), (0...59).contains(clock[1]), (0...60).contains(clock[2])
        else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        return Double(days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2])
    }
}
