// Numbers as C's printf and strtod have them: people's files compare and print them.

import Foundation

/// Numbers as C writes and reads them.
package enum Decimal6 {
    /// `%lf`: six decimals.
    package static func text(_ value: Double) -> String { String(format: "%lf", value) }

    /// A number with nothing behind it.
    package static func whole(_ octets: [UInt8]) -> Double? {
        Double(String(decoding: octets, as: UTF8.self).trimmingCharacters(in: .whitespaces))
    }

    /// `strtod`: the longest number at the start; nil when there is none.
    package static func number(_ octets: [UInt8]) -> Double? {
        var text = octets
        text.append(0)
        return text.withUnsafeBytes { bytes -> Double? in
            let start = bytes.bindMemory(to: CChar.self).baseAddress!
            var end: UnsafeMutablePointer<CChar>?
            let value = strtod(start, &end)
            return end.map { UnsafePointer($0) } == start ? nil : value
        }
    }
}

extension Decimal6 {
    /// `%g`: six digits that count, without zeros at the end.
    package static func short(_ value: Double) -> String { String(format: "%g", value) }
}
