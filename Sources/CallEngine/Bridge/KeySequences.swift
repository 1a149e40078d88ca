// Finds the sequences of keys that do something while two legs are connected (`*1`). Pure.

package import Basics

/// What one side of a bridge may press. No sequence begins another: the first that is whole counts.
package struct KeySequences {
    private let sequences: [(index: Int, keys: [Digit])]
    private var typed: [Digit] = []
    private var last = Instant.zero

    /// The longest time from one key of a sequence to the next.
    package static let patience = Duration.seconds(3)

    package init(_ sequences: [(index: Int, keys: [Digit])]) { self.sequences = sequences }

    /// A key began: the index of the sequence that it completes.
    package mutating func press(_ digit: Digit, at now: Instant) -> Int? {
        if now - last > Self.patience { typed = [] }
        last = now
        typed.append(digit)
        // What was typed before may have been no part of it.
        while !typed.isEmpty, !sequences.contains(where: { $0.keys.starts(with: typed) }) { typed.removeFirst() }
        guard let hit = sequences.first(where: { $0.keys == typed }) else { return nil }
        typed = []
        return hit.index
    }
}
