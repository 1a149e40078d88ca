/// Base64 (RFC 4648, section 4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        output.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let left = min(3, bytes.count - start)
            var group = UInt32(bytes[start]) << 16
            if left > 1 { group |= UInt32(bytes[start + 1]) << 8 }
            if left > 2 { group |= UInt32(bytes[start + 2]) }
            for place in 0..<4 {
                let index = Int(group >> UInt32(18 - 6 * place)) & 63
                output.append(place <= left ? alphabet[index] : UInt8(ascii: "="))
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Nil when it is not base64. The padding may be left out.
    package static func decode(_ text: String) -> [UInt8]? {
        var output: [UInt8] = []
        var group: UInt32 = 0
        var bits = 0
        var digits = Array(text.utf8)
        if digits.count % 4 == 0 {
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        }
        guard digits.count % 4 != 1 else { return nil }
        for digit in digits {
            guard let index = alphabet.firstIndex(of: digit) else { return nil }
            group = group << 6 | UInt32(index)
            bits += 6
            if bits >= 8 {
                bits -= 8
                output.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
            }
        }
        return output
    }
}
