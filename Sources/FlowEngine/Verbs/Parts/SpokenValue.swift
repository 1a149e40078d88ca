// Values as they are spoken (`as` of `say`): what the text is becomes words and single numbers that any speaker reads right.
//
//   digits    +49 30 1234, 12*#      each by itself; blanks and ( ) - . / are left out
//   number    1200, -3.5             by the language's decimal mark
//   amount    12.50 EUR              a number with two decimals at most, and a currency of ISO 4217
//   date      2026-11-30             or a timestamp of RFC 3339, by its own clock
//   time      14:05                  the same

import Basics

/// How a text is to be read.
enum SpokenValue: String, CaseIterable, Sendable {
    case digits, number, amount, date, time

    /// Why a text cannot be read so: what is wrong with it, as the end of a sentence without the text itself, which may be secret, and what
    /// would be right.
    struct Misfit: Error, Equatable {
        let words: String
        let mend: String

        init(_ words: String, mend: String) {
            self.words = words
            self.mend = mend
        }

        /// Nothing is wrong with the text: the language `code` is not known here.
        init(language code: String) {
            self.init("has no words in `\(code)`", mend: "there are some in \(SpokenLanguage.codes.joined(separator: ", "))")
        }
    }

    /// Needs months or money, which not every language has here.
    var needsLanguage: Bool { self == .date || self == .amount }

    /// The words for `text`. `code`: the language, of BCP 47.
    func words(for text: String, in code: String) throws(Misfit) -> String {
        let text = String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        let language = SpokenLanguage.named(code)
        switch self {
        case .digits: return try Self.digits(text, language, code)
        case .number:
            guard let number = Decimal(text) else { throw Misfit("is not a number", mend: "write it as 1200 or -3.5") }
            return try Self.number(number, language, code)
        case .amount: return try Self.amount(text, language, code)
        case .date:
            guard let date = Self.date(text) else { throw Misfit("is not a date", mend: "write it as 2026-11-30") }
            guard let language else { throw Misfit(language: code) }
            return language.date(language.day(date.day), language.months[date.month - 1], date.year)
        case .time:
            guard let time = Self.time(text) else { throw Misfit("is not a time", mend: "write it as 14:05") }
            return time
        }
    }

    private static func digits(_ text: String, _ language: SpokenLanguage?, _ code: String) throws(Misfit) -> String {
        var words: [String] = []
        for character in text {
            switch character {
            case "0"..."9" where character.isASCII, "A"..."D" where character.isASCII: words.append(String(character))
            case " ", "-", ".", "/", "(", ")": break
            case "*", "#", "+":
                guard let language else { throw Misfit(language: code) }
                words.append(character == "*" ? language.star : character == "#" ? language.hash : language.plus)
            default: throw Misfit("is not made of digits", mend: "0 to 9, A to D, * # and + are read one by one")
            }
        }
        guard !words.isEmpty else { throw Misfit("has no digit", mend: "0 to 9, A to D, * # and + are read one by one") }
        return words.joined(separator: " ")
    }

    private static func number(_ number: Decimal, _ language: SpokenLanguage?, _ code: String) throws(Misfit) -> String {
        if !number.isNegative, number.fraction.isEmpty { return number.whole }
        guard let language else { throw Misfit(language: code) }
        let fraction = number.fraction.isEmpty ? "" : language.decimalMark + number.fraction
        return (number.isNegative ? "\(language.minus) " : "") + number.whole + fraction
    }

    private static func amount(_ text: String, _ language: SpokenLanguage?, _ code: String) throws(Misfit) -> String {
        let parts = text.split(separator: " ").map(String.init)
        guard parts.count == 2, let number = Decimal(parts[0]), number.fraction.count <= 2 else {
            throw Misfit("is not an amount", mend: "write it as 12.50 EUR")
        }
        guard let language else { throw Misfit(language: code) }
        guard let (whole, part) = language.currencies[parts[1]] else {
            throw Misfit(
                "has a currency that is not known here", mend: "known are \(SpokenLanguage.currencies.joined(separator: ", "))")
        }
        let cents = Int(number.fraction + String(repeating: "0", count: 2 - number.fraction.count)) ?? 0
        var spoken: [String] = []
        if number.whole != "0" || cents == 0 { spoken.append(number.whole == "1" ? whole.one : "\(number.whole) \(whole.many)") }
        if cents > 0 { spoken.append(cents == 1 ? part.one : "\(cents) \(part.many)") }
        let isNegative = number.isNegative && (number.whole != "0" || cents > 0)
        return (isNegative ? "\(language.minus) " : "") + spoken.joined(separator: " \(language.and) ")
    }

    /// A day that there is; what follows has to be a time of RFC 3339.
    private static func date(_ text: String) -> CivilDate? {
        guard let match = text.wholeMatch(of: /([0-9]{4})-([0-9]{2})-([0-9]{2})([Tt ].*)?/),
            let year = Int(match.1), let month = Int(match.2), let day = Int(match.3), year > 0, (1...12).contains(month),
            (1...CivilDate.days(inMonth: month, year: year)).contains(day)
        else { return nil }
        if match.4 != nil, Timestamp(rfc3339: text) == nil { return nil }
        return CivilDate(year: year, month: month, day: day)
    }

    private static func time(_ text: String) -> String? {
        if let match = text.wholeMatch(of: /([0-9]{1,2}):([0-9]{2})(:[0-9]{2})?/) {
            guard let hour = Int(match.1), let minute = Int(match.2), hour < 24, minute < 60 else { return nil }
            return "\(hour):\(match.2)"
        }
        guard Timestamp(rfc3339: text) != nil, let match = text.firstMatch(of: /[Tt ]([0-9]{2}):([0-9]{2})/) else { return nil }
        return "\(Int(match.1) ?? 0):\(match.2)"
    }

    /// A number as it is written, of any length: `-12.50`. Zeros in front are left out.
    private struct Decimal {
        let isNegative: Bool
        let whole: String
        let fraction: String

        init?(_ text: String) {
            guard let match = text.wholeMatch(of: /(-?)0*([0-9]{1,30})(?:\.([0-9]{1,30}))?/) else { return nil }
            isNegative = !match.1.isEmpty
            whole = String(match.2)
            fraction = match.3.map(String.init) ?? ""
        }
    }
}
