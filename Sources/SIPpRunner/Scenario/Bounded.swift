// Figures of scenarios, messages and options may be any number: as whole ones and times they stay within bounds.

extension Int {
    /// The whole part, within ±10^15; 0 for what is no number.
    init(bounded value: Double) {
        self = value.isNaN ? 0 : Int(Swift.min(Swift.max(value, -1e15), 1e15))
    }
}

extension Duration {
    /// At most 10^12 ms, 31 years; nothing below 0.
    static func milliseconds(bounded value: Double) -> Duration {
        .microseconds(value.isNaN ? 0 : Int64(Swift.min(Swift.max(value, 0), 1e12) * 1000))
    }
}
