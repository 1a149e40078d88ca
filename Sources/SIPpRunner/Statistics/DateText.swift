// Times as text: those of messages and those of SIPp's files.

import Basics
import Foundation

enum DateText {
    /// `Mon, 30 Nov 2026 13:35:00 GMT` (RFC 3261 section 20.17).
    static func rfc3261(_ seconds: Double) -> String {
        let whole = Int(seconds.rounded(.down))
        let days = whole / 86_400
        let rest = whole % 86_400
        let date = CivilDate(daysSince1970: days)
        let week = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][days % 7]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        return
            "\(week), \(two(date.day)) \(months[date.month - 1]) \(date.year) \(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60)) GMT"
    }

    /// `2026-11-30⇥13:35:00.435158⇥1796045700.435158` in local time, or RFC 3339 in UTC.
    static func stamp(_ seconds: Double, rfc3339: Bool) -> String {
        let micros = Int((seconds * 1e6).rounded())
        var time = time_t(micros / 1_000_000)
        let part = micros % 1_000_000
        var parts = tm()
        if rfc3339 { gmtime_r(&time, &parts) } else { localtime_r(&time, &parts) }
        let day = "\(parts.tm_year + 1900)-\(two(Int(parts.tm_mon) + 1))-\(two(Int(parts.tm_mday)))"
        let clock = "\(two(Int(parts.tm_hour))):\(two(Int(parts.tm_min))):\(two(Int(parts.tm_sec))).\(six(part))"
        return rfc3339 ? "\(day)T\(clock)Z" : "\(day)\t\(clock)\t\(time).\(six(part))"
    }

    /// `2026-11-30 13:35:00.435265`, for the log of messages.
    static func plain(_ seconds: Double) -> String {
        let parts = stamp(seconds, rfc3339: false).split(separator: "\t")
        return "\(parts[0]) \(parts[1])"
    }

    /// `00:01:02`
    static func elapsed(_ duration: Duration) -> String {
        let seconds = Int(duration.nanoseconds / 1_000_000_000)
        return "\(two(seconds / 3600)):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }

    /// `00:00:00:004000`: of milliseconds.
    static func long(milliseconds: Double) -> String {
        let whole = Int(milliseconds)
        return "\(two(whole / 3_600_000)):\(two(whole / 60_000 % 60)):\(two(whole / 1000 % 60)):\(six(whole % 1000 * 1000))"
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func six(_ number: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }
}
