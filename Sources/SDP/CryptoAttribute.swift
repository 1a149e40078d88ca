// a=crypto (RFC 4568 section 9.1): the key with which the writer of a description protects what it sends.
//
//   a=crypto:tag suite inline:key||salt[|lifetime][|identifier:length] [session parameters]
//
// A lifetime is read and not kept: 2^20 packets, the shortest in use, are five hours of a call. Lines that are passed over: several keys, a key
// derivation rate, packets without encryption or authentication, forward error correction, unknown parameters (section 6.3.7).

package import Basics

/// One line that can be used.
package struct CryptoAttribute: Equatable, Sendable {
    /// 1 to 9 digits (0 is none of the RFC's, and in use).
    package var tag: Int
    package var suite: SRTPSuite
    /// Key and salt of the suite's length.
    package var key: KeyMaterial
    /// The master key identifier that the writer's packets carry, 1 to 128 octets; empty: none.
    package var identifier: [UInt8]

    package init(tag: Int, suite: SRTPSuite, key: KeyMaterial, identifier: [UInt8] = []) {
        self.tag = tag
        self.suite = suite
        self.key = key
        self.identifier = identifier
    }

    /// Reads what is behind `a=crypto:`; nil for a line that is broken or asks for what is not done.
    package init?(_ text: String) {
        let words = text.split { $0 == " " || $0 == "\t" }
        guard words.count >= 3, words[0].utf8.count <= 9, let tag = Int(words[0]), tag >= 0,
            let suite = SRTPSuite(rawValue: words[1].uppercased()), words[3...].allSatisfy(Self.isHarmless),
            words[2].prefix(7).lowercased() == "inline:", !words[2].contains(";")
        else { return nil }
        var parts = words[2].dropFirst(7).split(separator: "|", omittingEmptySubsequences: false)[...]
        guard let octets = Base64.decode(String(parts.removeFirst())), octets.count == suite.masterLength else { return nil }
        self.init(tag: tag, suite: suite, key: KeyMaterial(octets))
        if let lifetime = parts.first, !lifetime.contains(":") {
            guard Self.isLifetime(lifetime) else { return nil }
            parts.removeFirst()
        }
        guard let last = parts.popFirst() else { return }
        guard parts.isEmpty, let identifier = Self.identifier(last) else { return nil }
        self.identifier = identifier
    }

    /// A session parameter that changes nothing here: a hint at the window against replay, or what may be left unknown.
    private static func isHarmless(_ word: Substring) -> Bool { word.hasPrefix("-") || word.uppercased().hasPrefix("WSH=") }

    /// `2^31` or a number of packets.
    private static func isLifetime(_ word: Substring) -> Bool {
        let digits = word.hasPrefix("2^") ? word.dropFirst(2) : word
        return !digits.isEmpty && digits.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    }

    /// `value:length`, both decimal; the value in so many octets, the highest first.
    private static func identifier(_ word: Substring) -> [UInt8]? {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let value = UInt64(parts[0]), let length = Int(parts[1]), 1...128 ~= length else { return nil }
        guard length >= 8 || value >> UInt64(8 * length) == 0 else { return nil }
        return (0..<length).map { place in
            let octet = length - 1 - place
            return octet < 8 ? UInt8(truncatingIfNeeded: value >> UInt64(8 * octet)) : 0
        }
    }

    /// What stands behind `a=crypto:` in our own descriptions.
    var text: String { "\(tag) \(suite.rawValue) inline:\(Base64.encode(key.revealed))" }
}

extension PartLines {
    /// The lines that can be used, in order.
    var cryptoAttributes: [CryptoAttribute] {
        lines.compactMap { line in
            guard line.kind == .attribute else { return nil }
            var rest = field(line)
            guard rest.splitting(at: UInt8(ascii: ":")).equals(ignoringCase: "crypto") else { return nil }
            return CryptoAttribute(rest.string)
        }
    }
}
