import CLinux

/// Where an object lies in memory, for asking the processor for it ahead of its use. It is no reference: nothing is retained by it, and
/// the object may be gone.
package struct ObjectPlace {
    private let address: UnsafeRawPointer?

    /// nil lies nowhere: asking for it does nothing.
    package init(_ object: AnyObject?) {
        address = object.flatMap { UnsafeRawPointer(bitPattern: UInt(bitPattern: ObjectIdentifier($0))) }
    }

    /// Asks for the first `lines` times 64 octets; returns at once.
    package func prefetch(lines: Int32) { rw_prefetch(address, lines) }
}
