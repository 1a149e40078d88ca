// The map type of flows: keeps the order of its entries, finds numbers whatever their type.

/// A map with keys of the types bool, int, uint and string (CEL's rule). `1`, `1u` and `1.0` find the same entry.
package struct ValueMap: Sendable {
    package struct Entry: Sendable {
        package let key: Value
        package fileprivate(set) var value: Value
    }

    /// In the order in which the keys came.
    package private(set) var entries: [Entry] = []
    /// Where each key's entry is; kept only above `linear` entries, below that looking through them is quicker.
    private var places: [MapKey: Int] = [:]
    private static let linear = 8

    package init() {}

    package var count: Int { entries.count }

    /// The value under a key of any type; nil when there is none.
    package subscript(key: Value) -> Value? {
        guard let wanted = MapKey(key), let place = place(of: wanted) else { return nil }
        return entries[place].value
    }

    /// The value under a name. Setting nil changes nothing: entries are never taken away.
    package subscript(name: String) -> Value? {
        get {
            guard let place = place(of: .string(name)) else { return nil }
            return entries[place].value
        }
        set {
            if let newValue { set(newValue, key: .string(name), as: .string(name)) }
        }
    }

    /// Sets an entry; false when the key's type cannot be a key.
    @discardableResult
    package mutating func set(_ value: Value, for key: Value) -> Bool {
        if case .double = key { return false }
        guard let normal = MapKey(key) else { return false }
        set(value, key: normal, as: key)
        return true
    }

    private mutating func set(_ value: Value, key: MapKey, as original: Value) {
        if let place = place(of: key) {
            entries[place].value = value
            return
        }
        entries.append(Entry(key: original, value: value))
        if entries.count == Self.linear + 1 {
            for (place, entry) in entries.enumerated() {
                if let known = MapKey(entry.key) { places[known] = place }
            }
        } else if entries.count > Self.linear {
            places[key] = entries.count - 1
        }
    }

    private func place(of key: MapKey) -> Int? {
        if entries.count > Self.linear { return places[key] }
        return entries.firstIndex { MapKey($0.key) == key }
    }
}

/// A key in its one form: whole numbers of every type that fit are `int`.
private enum MapKey: Hashable {
    case bool(Bool)
    case int(Int64)
    case uint(UInt64)
    case string(String)

    init?(_ value: Value) {
        switch value {
        case .bool(let truth): self = .bool(truth)
        case .int(let number): self = .int(number)
        case .uint(let number): self = Int64(exactly: number).map { .int($0) } ?? .uint(number)
        case .double(let number):
            if let whole = Int64(exactly: number) {
                self = .int(whole)
            } else if let whole = UInt64(exactly: number) {
                self = .uint(whole)
            } else {
                return nil
            }
        case .string(let text): self = .string(text)
        default: return nil
        }
    }
}
