/// Shares as people write them.
package enum Percent {
    /// Reads `20%` as 0.2; nil for anything else, and outside of 0 to 100%.
    package static func share(_ text: String) -> Double? {
        guard text.hasSuffix("%"), let percent = Double(text.dropLast()), (0...100).contains(percent) else { return nil }
        return percent / 100
    }
}
