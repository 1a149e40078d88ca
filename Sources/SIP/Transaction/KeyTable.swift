// A hash table from keys to numbers. Keys are random already (TransactionKey.swift), so nothing is hashed again: a key's own bits
// name the place where the search for it begins, and it lies there or in one of the next places.

/// Numbers by key.
package struct KeyTable: Sendable {
    private struct Place {
        var key = TransactionKey(first: 0, second: 0)
        var value = UInt32.max
        var isFree: Bool { value == .max }
    }

    private var places = ContiguousArray(repeating: Place(), count: 64)
    /// How many keys there are.
    package private(set) var count = 0

    package init() {}

    private var mask: Int { places.count - 1 }

    /// Where the key lies, or the free place at which the search for it ends.
    private func place(of key: TransactionKey) -> Int {
        var index = Int(truncatingIfNeeded: key.first) & mask
        while !places[index].isFree, places[index].key != key { index = (index + 1) & mask }
        return index
    }

    /// The number of a key; nil for a key that is not in the table. Numbers are below 2^32 - 1.
    package subscript(key: TransactionKey) -> UInt32? {
        let found = places[place(of: key)]
        return found.isFree ? nil : found.value
    }

    /// Sets the number of a key, which may be in the table.
    package mutating func set(_ key: TransactionKey, _ value: UInt32) {
        // At most half full: the search for a key that is not there, which every new request begins with, ends after two or three places
        // instead of eight.
        if count * 2 >= places.count { grow() }
        let index = place(of: key)
        if places[index].isFree { count += 1 }
        places[index] = Place(key: key, value: value)
    }

    /// Takes the key out when its number is `value`.
    package mutating func remove(_ key: TransactionKey, _ value: UInt32) {
        var hole = place(of: key)
        guard places[hole].value == value else { return }
        count -= 1
        // Each of the following keys that would not be found behind a hole any more moves into it.
        var index = (hole + 1) & mask
        while !places[index].isFree {
            let home = Int(truncatingIfNeeded: places[index].key.first) & mask
            if (index - home) & mask >= (index - hole) & mask {
                places[hole] = places[index]
                hole = index
            }
            index = (index + 1) & mask
        }
        places[hole] = Place()
    }

    private mutating func grow() {
        let old = places
        places = ContiguousArray(repeating: Place(), count: old.count * 2)
        for entry in old where !entry.isFree { places[place(of: entry.key)] = entry }
    }
}
