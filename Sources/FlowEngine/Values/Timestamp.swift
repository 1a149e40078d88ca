// Points in time: RFC 3339 in and out.

import Basics

/// A point in time of the wall clock, to the nanosecond, from the year 1 to the year 9999 (UTC).
package struct Timestamp: Hashable, Comparable, Sendable {
    /// Since 1970-01-01T00:00:00Z; before it negative.
    package let seconds: Int64
    /// Added to `seconds`: 0 to 999,999,999.
    package let nanoseconds: Int32

    static let earliest: Int64 = -62_135_596_800
    static let latest: Int64 = 253_402_300_799

    /// A time in seconds and a part of a second.
    package init(seconds: Int64, nanoseconds: Int32 = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// A time as the wall clock gives it (seconds since 1970), to the microsecond.
    package init(secondsSince1970: Double) {
        let whole = secondsSince1970.rounded(.down)
        let bounded = min(max(whole, Double(Self.earliest)), Double(Self.latest))
        self.init(seconds: Int64(bounded), nanoseconds: Int32((secondsSince1970 - whole) * 1e6) * 1000)
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }

    /// The time later by a length; nil outside the years 1 to 9999.
    package func advanced(by length: Duration) -> Timestamp? {
        let (whole, attoseconds) = length.components
        var nanos = Int64(nanoseconds) + attoseconds / 1_000_000_000
        let (sum, overflow) = seconds.addingReportingOverflow(whole)
        guard !overflow else { return nil }
        var total = sum
        if nanos < 0 {
            nanos += 1_000_000_000
            total -= 1
        } else if nanos >= 1_000_000_000 {
            nanos -= 1_000_000_000
            total += 1
        }
        guard (Self.earliest...Self.latest).contains(total) else { return nil }
        return Timestamp(seconds: total, nanoseconds: Int32(nanos))
    }

    /// The length of time from `earlier` to this time.
    package func since(_ earlier: Timestamp) -> Duration {
        .seconds(seconds - earlier.seconds) + .nanoseconds(Int64(nanoseconds) - Int64(earlier.nanoseconds))
    }
}

extension Timestamp {
    /// Reads RFC 3339 (section 5.6): `2026-03-01T12:00:00.5+01:00`. Nil when it is not one, or outside the years 1 to 9999.
    package init?(rfc3339 text: String) {
        var reader = DigitReader(Array(text.utf8))
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2), reader.take("T") || reader.take("t"), let hour = reader.number(2), reader.take(":"),
            let minute = reader.number(2), reader.take(":"), let second = reader.number(2),
            (1...12).contains(month), day >= 1, day <= CivilDate.days(inMonth: month, year: year),
            hour < 24, minute < 60, second < 60
        else { return nil }
        var nanoseconds: Int32 = 0
        if reader.take(".") {
            guard let fraction = reader.fraction() else { return nil }
            nanoseconds = fraction
        }
        var offset: Int64 = 0
        if !(reader.take("Z") || reader.take("z")) {
            let east = reader.take("+")
            guard east || reader.take("-"), let hours = reader.number(2), reader.take(":"), let minutes = reader.number(2),
                hours < 24, minutes < 60
            else { return nil }
            offset = Int64(hours * 3600 + minutes * 60) * (east ? 1 : -1)
        }
        guard reader.isAtEnd else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        let total = Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second) - offset
        guard (Self.earliest...Self.latest).contains(total) else { return nil }
        self.init(seconds: total, nanoseconds: nanoseconds)
    }

    /// RFC 3339 in UTC, with as many decimals as the time needs: `2026-03-01T11:00:00.5Z`.
    package var rfc3339: String {
        let clock = CivilTime(self, offset: 0)
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let date = padded(clock.date.year, 4) + "-" + padded(clock.date.month, 2) + "-" + padded(clock.date.day, 2)
        let time = padded(clock.hour, 2) + ":" + padded(clock.minute, 2) + ":" + padded(clock.second, 2)
        var fraction = ""
        if nanoseconds != 0 {
            fraction = padded(Int(nanoseconds), 9)
            while fraction.hasSuffix("0") { fraction.removeLast() }
            fraction = "." + fraction
        }
        return date + "T" + time + fraction + "Z"
    }
}

/// What a clock on the wall shows.
struct CivilTime {
    let date: CivilDate
    let hour: Int
    let minute: Int
    let second: Int
    let millisecond: Int
    /// 0 is Sunday.
    let weekday: Int
    /// 0 is January 1st.
    let dayOfYear: Int

    /// `offset`: seconds east of UTC.
    init(_ time: Timestamp, offset: Int) {
        let local = Int(time.seconds) + offset
        let days = Int((Double(local) / 86_400).rounded(.down))
        let rest = local - days * 86_400
        date = CivilDate(daysSince1970: days)
        hour = rest / 3600
        minute = rest / 60 % 60
        second = rest % 60
        millisecond = Int(time.nanoseconds) / 1_000_000
        weekday = ((days + 4) % 7 + 7) % 7
        dayOfYear = days - CivilDate(year: date.year, month: 1, day: 1).daysSince1970
    }
}

/// Reads fixed numbers of digits.
private struct DigitReader {
    private let bytes: [UInt8]
    private var next = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { next == bytes.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next < bytes.count, bytes[next] == UInt8(ascii: character) else { return false }
        next += 1
        return true
    }

    private mutating func digit() -> Int? {
        guard next < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[next]) else { return nil }
        next += 1
        return Int(bytes[next - 1] - UInt8(ascii: "0"))
    }

    mutating func number(_ digits: Int) -> Int? {
        var number = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// One to nine decimals, as nanoseconds.
    mutating func fraction() -> Int32? {
        var number: Int32 = 0
        var count = 0
        while let digit = digit() {
            guard count < 9 else { return nil }
            number = number * 10 + Int32(digit)
            count += 1
        }
        guard count > 0 else { return nil }
        for _ in count..<9 { number *= 10 }
        return number
    }
}
