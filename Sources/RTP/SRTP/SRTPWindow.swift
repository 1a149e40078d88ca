// The index of a packet, guessed from its sequence number (RFC 3711 section 3.3.1), and the list against replay (section 3.3.2).

/// What came of one source: the highest index, and which of the 64 up to it.
package struct SRTPWindow: Equatable, Sendable {
    /// Packets that may come late.
    package static let size: UInt64 = 64
    /// The highest that an index can be: 32 bits of rollover counter, 16 of sequence number.
    private static let highestIndex: UInt64 = 0xFFFF_FFFF_FFFF

    private var highest: UInt64 = 0
    /// Bit n: `highest - n` came. None before the first packet.
    private var came: UInt64 = 0

    package init() {}

    /// Nothing came so far.
    package var isEmpty: Bool { came == 0 }

    /// The index with these low 16 bits that is nearest to the highest one; the first packet of a source has the rollover counter 0. Nil
    /// where it would be below zero, or the key is used up.
    package func index(of sequence: UInt16) -> UInt64? {
        guard came != 0 else { return UInt64(sequence) }
        let step = Int16(bitPattern: sequence &- UInt16(truncatingIfNeeded: highest))
        let index = Int64(highest) + Int64(step)
        return index < 0 || index > Int64(Self.highestIndex) ? nil : UInt64(index)
    }

    /// Whether this index did not come, and is not too old to tell.
    package func isNew(_ index: UInt64) -> Bool {
        guard came != 0, index <= highest else { return true }
        let age = highest - index
        return age < Self.size && came >> age & 1 == 0
    }

    /// A packet with this index is authentic.
    package mutating func note(_ index: UInt64) {
        if came != 0, index <= highest {
            let age = highest - index
            if age < Self.size { came |= 1 << age }
        } else {
            let step = index - highest
            came = came != 0 && step < Self.size ? came << step | 1 : 1
            highest = index
        }
    }
}
