/// A network in CIDR notation.
package struct IPNetwork: Hashable, Sendable {
    package let base: IPAddress
    /// The number of leading bits that count.
    package let prefix: Int

    /// Reads `198.51.100.0/24`, `2001:db8::/32`, or an address alone (all its bits count).
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let base = IPAddress(parts[0]), parts.count <= 2 else { return nil }
        let width = base.isV6 ? 128 : 32
        guard let prefix = parts.count == 2 ? Int(parts[1]) : width, (0...width).contains(prefix) else { return nil }
        self.base = base
        self.prefix = prefix
    }

    package func contains(_ address: IPAddress) -> Bool {
        switch (base, address) {
        case (.v4(let base), .v4(let address)):
            return (base ^ address) & Self.mask(prefix, UInt32.self) == 0
        case (.v6(let high, let low), .v6(let otherHigh, let otherLow)):
            return (high ^ otherHigh) & Self.mask(min(prefix, 64), UInt64.self) == 0
                && (low ^ otherLow) & Self.mask(max(prefix - 64, 0), UInt64.self) == 0
        default: return false
        }
    }

    private static func mask<Word: FixedWidthInteger>(_ bits: Int, _: Word.Type) -> Word {
        bits == 0 ? 0 : ~Word(0) << Word(Word.bitWidth - bits)
    }
}
