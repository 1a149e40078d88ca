// Equality and order of values (CEL language definition, "Equality" and "Ordering").

extension Value: Equatable {
    package static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.string(let left), .string(let right)): sameText(left, right)
        case (.bytes(let left), .bytes(let right)): left == right
        case (.list(let left), .list(let right)): left == right
        case (.map(let left), .map(let right)):
            left.count == right.count && left.entries.allSatisfy { right[$0.key] == Optional($0.value) }
        case (.duration(let left), .duration(let right)): left == right
        case (.timestamp(let left), .timestamp(let right)): left == right
        case (.type(let left), .type(let right)): left == right
        case (.optional(let left), .optional(let right)): left == right
        default: compareNumbers(left, right) == .equal
        }
    }

    enum Order {
        case less
        case equal
        case greater
        /// One of them is NaN.
        case none

        init<Item: Comparable>(_ left: Item, _ right: Item) {
            self = left < right ? .less : left == right ? .equal : left > right ? .greater : .none
        }

        var reversed: Order {
            switch self {
            case .less: .greater
            case .greater: .less
            default: self
            }
        }
    }

    /// CEL compares code points; Swift's own comparison would take composed and decomposed letters for the same.
    static func sameText(_ left: String, _ right: String) -> Bool {
        left.utf8.elementsEqual(right.utf8)
    }

    /// The order of two values; nil when the types have none between them.
    func order(against other: Value) -> Order? {
        switch (self, other) {
        case (.bool(let left), .bool(let right)): Order(left ? 1 : 0, right ? 1 : 0)
        case (.string(let left), .string(let right)):
            // The order of UTF-8 bytes is the order of code points.
            Value.sameText(left, right) ? .equal : left.utf8.lexicographicallyPrecedes(right.utf8) ? .less : .greater
        case (.bytes(let left), .bytes(let right)):
            left == right ? .equal : left.lexicographicallyPrecedes(right) ? .less : .greater
        case (.duration(let left), .duration(let right)): Order(left, right)
        case (.timestamp(let left), .timestamp(let right)): Order(left, right)
        default: Value.compareNumbers(self, other)
        }
    }

    /// The order on the number line, exact across types; nil when one is no number.
    static func compareNumbers(_ left: Value, _ right: Value) -> Order? {
        switch (left, right) {
        case (.int(let left), .int(let right)): Order(left, right)
        case (.uint(let left), .uint(let right)): Order(left, right)
        case (.double(let left), .double(let right)): Order(left, right)
        case (.int(let left), .uint(let right)): left < 0 ? .less : Order(UInt64(left), right)
        case (.uint(let left), .int(let right)): right < 0 ? .greater : Order(left, UInt64(right))
        case (.int(let left), .double(let right)): compare(left, right)
        case (.double(let left), .int(let right)): compare(right, left).reversed
        case (.uint(let left), .double(let right)): compare(left, right)
        case (.double(let left), .uint(let right)): compare(right, left).reversed
        default: nil
        }
    }

    /// Exact where turning the integer into a double would round it.
    private static func compare<Number: FixedWidthInteger>(_ whole: Number, _ number: Double) -> Order {
        if number.isNaN { return .none }
        let floor = number.rounded(.down)
        guard let below = Number(exactly: floor) else { return number > 0 ? .less : .greater }
        if whole == below { return floor == number ? .equal : .less }
        return whole < below ? .less : .greater
    }
}
