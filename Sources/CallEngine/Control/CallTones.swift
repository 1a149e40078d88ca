import Audio

/// The call progress tones that are known, by the names of the tone plans.
package enum CallTones {
    /// dial, ringback, busy, congestion, info.
    package static let names = TonePlan.Name.allCases.map(\.rawValue)

    /// The codes of the countries whose tones are known (ISO 3166-1, lower case).
    package static let countries = TonePlan.all.map(\.country).sorted()

    /// Whether a country's tones are known, by its code in either case.
    package static func isKnown(_ country: String) -> Bool { TonePlan.country(country) != nil }

    /// The names of a country's tones whose first sound has these frequencies, in Hz, within 10 Hz.
    package static func names(of frequencies: [Double], country: String) -> [String] {
        guard let plan = TonePlan.country(country) else { return [] }
        return TonePlan.Name.allCases.filter { name in
            let wanted = plan[name].mainFrequencies
            return wanted.count == frequencies.count
                && wanted.allSatisfy { tone in frequencies.contains { abs($0 - tone) <= 10 } }
        }.map(\.rawValue)
    }

    /// The names of all tones of a country that sound as the named one.
    package static func namesLike(_ name: String, country: String) -> [String] {
        guard let plan = TonePlan.country(country), let tone = TonePlan.Name(rawValue: name) else { return [] }
        return TonePlan.Name.allCases.filter { plan[$0] == plan[tone] }.map(\.rawValue)
    }

    /// How long one cadence of a tone is; nil for a steady one, and for one that is not known.
    package static func cadence(of name: String, country: String) -> Duration? {
        guard let plan = TonePlan.country(country), let tone = TonePlan.Name(rawValue: name) else { return nil }
        return plan[tone].cadence
    }
}
