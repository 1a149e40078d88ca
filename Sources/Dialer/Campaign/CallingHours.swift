// When people may be called: by the wall clock of a time zone.

import Foundation

package struct CallingHours: Equatable, Sendable {
    /// Minutes since midnight. `until` not after `from`: it ends on the next day.
    package var from: Int
    package var until: Int
    /// Of the day on which it begins; 1 is Sunday, as in Foundation's calendar.
    package var days: Set<Int>
    private let zone: TimeZone

    /// The short names of days, Sunday first.
    package static let names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

    /// nil for a zone that nobody knows. Without a name it is this machine's.
    package init?(from: Int, until: Int, days: Set<Int> = Set(1...7), zone name: String? = nil) {
        guard let zone = name.map({ TimeZone(identifier: $0) }) ?? TimeZone.current else { return nil }
        self.from = from
        self.until = until
        self.days = days
        self.zone = zone
    }

    private var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        return calendar
    }

    /// Whether calls may begin at this time, seconds since 1970.
    package func isOpen(at wall: Double) -> Bool {
        let parts = calendar.dateComponents([.weekday, .hour, .minute], from: Date(timeIntervalSince1970: wall))
        let minute = (parts.hour ?? 0) * 60 + (parts.minute ?? 0)
        let day = parts.weekday ?? 1
        if from < until { return days.contains(day) && minute >= from && minute < until }
        let before = day == 1 ? 7 : day - 1
        return (days.contains(day) && minute >= from) || (days.contains(before) && minute < until)
    }

    /// Reads `09:30`, or `24:00` for the end of the day.
    package static func minutes(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].count == 2, let hour = Int(parts[0]), let minute = Int(parts[1]),
            (0..<60).contains(minute),
            (0...23).contains(hour) || (hour == 24 && minute == 0)
        else { return nil }
        return hour * 60 + minute
    }
}
