// The tones of the countries: what a caller hears for dial, ringback, busy, congestion and special information. Values
// after ITU-T E.180 Supplement 2 and the tables that exchanges use; `xx` is E.180's recommendation for a new network.

/// The call progress tones of one country.
package struct TonePlan: Hashable, Sendable {
    /// A tone by what it says.
    package enum Name: String, CaseIterable, Hashable, Sendable {
        case dial
        case ringback
        case busy
        case congestion
        /// Special information: three rising tones before "this number is not in service".
        case information = "info"
    }

    /// ISO 3166-1 code in lower case, or `xx`.
    package let country: String
    package let dial: Tone
    package let ringback: Tone
    package let busy: Tone
    package let congestion: Tone
    package let information: Tone

    package subscript(name: Name) -> Tone {
        switch name {
        case .dial: dial
        case .ringback: ringback
        case .busy: busy
        case .congestion: congestion
        case .information: information
        }
    }

    /// The frequencies, in Hz, of each sound that a pause of 100 ms or more follows: it may be taken for something of its own.
    package var soundsBeforePauses: [[Double]] {
        Name.allCases.flatMap { name in
            let elements = self[name].elements
            return elements.indices.compactMap { index -> [Double]? in
                let next = elements[(index + 1) % elements.count]
                let isPause = next.frequencies.isEmpty && next.duration ?? .zero >= .milliseconds(100)
                return isPause && !elements[index].frequencies.isEmpty ? elements[index].frequencies : nil
            }
        }
    }

    /// All plans, by country code.
    package static let all: [TonePlan] = rows.map { row in
        guard let dial = Tone(row.1), let ringback = Tone(row.2), let busy = Tone(row.3), let congestion = Tone(row.4),
            let information = Tone(row.5)
        else { preconditionFailure("the tones of \(row.0) cannot be read") }
        return TonePlan(
            country: row.0, dial: dial, ringback: ringback, busy: busy, congestion: congestion, information: information)
    }

    private static let byCountry = Dictionary(uniqueKeysWithValues: all.map { ($0.country, $0) })

    /// What is played where nothing else is known.
    package static var standard: TonePlan { all[0] }

    /// The plan of a country by its ISO 3166-1 code, in either case (`uk` is taken for `gb`); nil when it is not in the table.
    package static func country(_ code: String) -> TonePlan? {
        let lower = code.lowercased()
        return byCountry[lower == "uk" ? "gb" : lower]
    }

    /// The common form of special information.
    private static let rising = "950:330 1400:330 1800:330 0:1000"

    // swift-format-ignore
    /// Country, dial, ringback, busy, congestion, special information.
    private static let rows: [(String, String, String, String, String, String)] = [
        ("xx", "425", "425:1000 0:4000", "425:500 0:500", "425:250 0:250", rising),
        ("at", "420", "420:1000 0:5000", "420:400 0:400", "420:200 0:200", "950:330 1450:330 1850:330 0:1000"),
        ("au", "413+438", "413+438:400 0:200 413+438:400 0:2000", "425:375 0:375", "425:375 0:375", "425:2500 0:500"),
        ("be", "425", "425:1000 0:3000", "425:500 0:500", "425:167 0:167", "900:330 1400:330 1800:330 0:1000"),
        ("bg", "425", "425:1000 0:4000", "425:500 0:500", "425:250 0:250", rising),
        ("br", "425", "425:1000 0:4000", "425:250 0:250", "425:250 0:250 425:750 0:250", rising),
        ("ca", "350+440", "440+480:2000 0:4000", "480+620:500 0:500", "480+620:250 0:250", rising),
        ("ch", "425", "425:1000 0:4000", "425:500 0:500", "425:200 0:200", rising),
        ("cl", "400", "400:1000 0:3000", "400:500 0:500", "400:200 0:200", "950:333 1400:333 1800:333 0:1000"),
        ("cn", "450", "450:1000 0:4000", "450:350 0:350", "450:700 0:700",
            "450:100 0:100 450:100 0:100 450:100 0:100 450:400 0:400"),
        ("cz", "425:330 0:330 425:660 0:660", "425:1000 0:4000", "425:330 0:330", "425:165 0:165",
            "950:330 0:30 1400:330 0:30 1800:330 0:1000"),
        ("de", "425", "425:1000 0:4000", "425:480 0:480", "425:240 0:240", rising),
        ("dk", "425", "425:1000 0:4000", "425:500 0:500", "425:200 0:200", rising),
        ("ee", "425", "425:1000 0:4000", "425:300 0:300", "425:200 0:200", "950:650 0:325 950:325 0:30 1400:1300 0:2600"),
        ("es", "425", "425:1500 0:3000", "425:200 0:200", "425:200 0:200 425:200 0:200 425:200 0:600", "950:330 0:1000"),
        ("fi", "425", "425:1000 0:4000", "425:300 0:300", "425:200 0:200", "950:650 0:325 950:325 0:30 1400:1300 0:2600"),
        ("fr", "440", "440:1500 0:3500", "440:500 0:500", "440:250 0:250", rising),
        ("gb", "350+440", "400+450:400 0:200 400+450:400 0:2000", "400:375 0:375", "400:400 0:350 400:225 0:525",
            "950:330 0:15 1400:330 0:15 1800:330 0:1000"),
        ("gr", "425:200 0:300 425:700 0:800", "425:1000 0:4000", "425:300 0:300", "425:200 0:200", rising),
        ("hu", "425", "425:1250 0:3750", "425:300 0:300", "425:300 0:300", rising),
        ("id", "425", "425:1000 0:4000", "425:500 0:500", "425:250 0:250", rising),
        ("il", "414", "414:1000 0:3000", "414:500 0:500", "414:250 0:250", "1000:330 1400:330 1800:330 0:1000"),
        ("in", "400*25", "400*25:400 0:200 400*25:400 0:2000", "400:750 0:750", "400:250 0:250", rising),
        ("it", "425:200 0:200 425:600 0:1000", "425:1000 0:4000", "425:500 0:500", "425:200 0:200", rising),
        ("jp", "400", "400*15:1000 0:2000", "400:500 0:500", "400:500 0:500", rising),
        ("lt", "425", "425:1000 0:4000", "425:350 0:350", "425:200 0:200", rising),
        ("mx", "425", "425:1000 0:4000", "425:250 0:250", "425:250 0:250", "950:330 0:30 1400:330 0:30 1800:330 0:1000"),
        ("my", "425", "425:400 0:200 425:400 0:2000", "425:500 0:500", "425:500 0:500", rising),
        ("nl", "425", "425:1000 0:4000", "425:500 0:500", "425:250 0:250", rising),
        ("no", "425", "425:1000 0:4000", "425:500 0:500", "425:200 0:200", rising),
        ("nz", "400", "400+450:400 0:200 400+450:400 0:2000", "400:500 0:500", "400:250 0:250",
            "400:750 0:100 400:750 0:100 400:750 0:100 400:750 0:400"),
        ("ph", "425", "425+480:1000 0:4000", "480+620:500 0:500", "480+620:250 0:250", rising),
        ("pl", "425", "425:1000 0:4000", "425:500 0:500", "425:500 0:500", rising),
        ("pt", "425", "425:1000 0:5000", "425:500 0:500", "425:200 0:200", rising),
        ("ru", "425", "425:1000 0:4000", "425:350 0:350", "425:175 0:175", rising),
        ("se", "425", "425:1000 0:5000", "425:250 0:250", "425:250 0:750", "950:332 0:24 1400:332 0:24 1800:332 0:2024"),
        ("sg", "425", "425*24:400 0:200 425*24:400 0:2000", "425:750 0:750", "425:250 0:250", rising),
        ("th", "400*50", "420:1000 0:5000", "400:500 0:500", "400:300 0:300", rising),
        ("tw", "350+440", "440+480:1000 0:2000", "480+620:500 0:500", "480+620:250 0:250", rising),
        ("us", "350+440", "440+480:2000 0:4000", "480+620:500 0:500", "480+620:250 0:250", rising),
        ("ve", "425", "425:1000 0:4000", "425:500 0:500", "425:250 0:250", "950:330 1440:330 1800:330 0:1000"),
        ("za", "400*33", "400*33:400 0:200 400*33:400 0:2000", "400:500 0:500", "400:250 0:250", rising),
    ]
}
