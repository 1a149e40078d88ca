// The parts of timestamps and durations. Time zones are Foundation's (the IANA names) or fixed offsets such as `+02:00`.
internal import Basics
internal import Foundation

enum TimeFunctions {
    static func call(_ function: Function, _ time: Timestamp, _ zone: Value?) throws(ExpressionError) -> Value? {
        var offset = 0
        if let zone {
            guard case .string(let name) = zone else { return nil }
            offset = try self.offset(of: name, at: time)
        }
        let clock = CivilTime(time, offset: offset)
        let number: Int? =
            switch function {
            case .getFullYear: clock.date.year
            case .getMonth: clock.date.month - 1
            case .getDate: clock.date.day
            case .getDayOfMonth: clock.date.day - 1
            case .getDayOfWeek: clock.weekday
            case .getDayOfYear: clock.dayOfYear
            case .getHours: clock.hour
            case .getMinutes: clock.minute
            case .getSeconds: clock.second
            case .getMilliseconds: clock.millisecond
            default: nil
            }
        return number.map { .int(Int64($0)) }
    }

    /// Whole hours, minutes and seconds of the length; its milliseconds within the second.
    static func call(_ function: Function, _ length: Duration) -> Value? {
        let (seconds, attoseconds) = length.components
        switch function {
        case .getHours: return .int(seconds / 3600)
        case .getMinutes: return .int(seconds / 60)
        case .getSeconds: return .int(seconds)
        case .getMilliseconds: return .int(attoseconds / 1_000_000_000_000_000)
        default: return nil
        }
    }

    /// Seconds east of UTC.
    private static func offset(of name: String, at time: Timestamp) throws(ExpressionError) -> Int {
        if let fixed = fixedOffset(name) { return fixed }
        if name == "UTC" { return 0 }
        guard name.utf8.count <= 64, let zone = TimeZone(identifier: name) else {
            throw ExpressionError(
                .invalidArgument, "there is no time zone \"\(name.prefix(40))\"; write one such as Europe/Paris or +02:00")
        }
        return zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time.seconds)))
    }

    /// `+02:00`, `-02:00`, `02:00`.
    private static func fixedOffset(_ name: String) -> Int? {
        var digits = Substring(name)
        let west = digits.hasPrefix("-")
        if west || digits.hasPrefix("+") { digits.removeFirst() }
        let parts = digits.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.count == 2 && $0.allSatisfy { $0.isASCII && $0.isNumber } }),
            let hours = Int(parts[0]), let minutes = Int(parts[1]), hours < 24, minutes < 60
        else { return nil }
        return (hours * 3600 + minutes * 60) * (west ? -1 : 1)
    }
}
