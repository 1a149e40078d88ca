// Records of octets on their way from one loop to another, or within one: a ring with one writer and one reader. Neither waits, locks or
// allocates. What finds no room is not taken; its writer counts it.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-------------------------------+-------------------------------+
//   |        octets (native)        |         tag (native)          |   then the octets; a record may go over the ring's end
//   +-------------------------------+-------------------------------+

import Synchronization

/// A bounded queue of records with one writer and one reader, each on a thread of its own if they like.
///
/// `@unchecked Sendable`: what lies between the two positions is the reader's, the rest the writer's. Each moves its own position, and only
/// after it is done with the octets that it gives away by that.
package final class RecordRing: @unchecked Sendable {
    private static let headSize = 4
    private let storage: UnsafeMutableRawBufferPointer
    /// Octets that were ever written and read, heads among them; the place in the ring is the rest by its size.
    private let written = Atomic<Int>(0)
    private let read = Atomic<Int>(0)
    /// Records that were ever written and read.
    private let writtenRecords = Atomic<Int>(0)
    private let readRecords = Atomic<Int>(0)

    /// - Parameter capacity: octets, four of each record's head included; a power of two.
    package init(capacity: Int) {
        precondition(capacity > Self.headSize && capacity & (capacity - 1) == 0, "a ring's size is a power of two")
        storage = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit { storage.deallocate() }

    /// Records that wait. The writer may find fewer a moment later, the reader more.
    package var count: Int {
        let taken = readRecords.load(ordering: .acquiring)
        return writtenRecords.load(ordering: .acquiring) - taken
    }

    // MARK: The writer

    /// Adds a record of at most 65,535 octets; false when there is no room for it.
    package func push(_ octets: UnsafeRawBufferPointer, tag: UInt16) -> Bool {
        precondition(octets.count <= UInt16.max, "a record holds up to 65,535 octets")
        let place = written.load(ordering: .relaxed)
        let size = Self.headSize + octets.count
        guard place + size - read.load(ordering: .acquiring) <= storage.count else { return false }
        withUnsafeBytes(of: (UInt16(octets.count), tag)) { copy($0, to: place) }
        copy(octets, to: place + Self.headSize)
        written.store(place + size, ordering: .releasing)
        writtenRecords.wrappingAdd(1, ordering: .releasing)
        return true
    }

    private func copy(_ octets: UnsafeRawBufferPointer, to place: Int) {
        guard let source = octets.baseAddress else { return }
        let start = place & (storage.count - 1)
        let first = min(octets.count, storage.count - start)
        storage.baseAddress!.advanced(by: start).copyMemory(from: source, byteCount: first)
        storage.baseAddress!.copyMemory(from: source + first, byteCount: octets.count - first)
    }

    // MARK: The reader

    /// Copies the octets of the oldest record to the front of `output`, which has room for them; nil when none waits.
    package func pop(into output: UnsafeMutableRawBufferPointer) -> (tag: UInt16, count: Int)? {
        guard let (place, count, tag) = oldest() else { return nil }
        precondition(count <= output.count, "a record fits")
        copy(from: place + Self.headSize, to: UnsafeMutableRawBufferPointer(rebasing: output[..<count]))
        leave(place, count)
        return (tag, count)
    }

    /// Forgets the oldest record; false when none waits.
    @discardableResult
    package func drop() -> Bool {
        guard let (place, count, _) = oldest() else { return false }
        leave(place, count)
        return true
    }

    private func oldest() -> (place: Int, count: Int, tag: UInt16)? {
        let place = read.load(ordering: .relaxed)
        guard place != written.load(ordering: .acquiring) else { return nil }
        var head: (UInt16, UInt16) = (0, 0)
        withUnsafeMutableBytes(of: &head) { copy(from: place, to: $0) }
        return (place, Int(head.0), head.1)
    }

    private func leave(_ place: Int, _ count: Int) {
        read.store(place + Self.headSize + count, ordering: .releasing)
        readRecords.wrappingAdd(1, ordering: .releasing)
    }

    private func copy(from place: Int, to output: UnsafeMutableRawBufferPointer) {
        guard let target = output.baseAddress else { return }
        let start = place & (storage.count - 1)
        let first = min(output.count, storage.count - start)
        target.copyMemory(from: storage.baseAddress! + start, byteCount: first)
        target.advanced(by: first).copyMemory(from: storage.baseAddress!, byteCount: output.count - first)
    }
}
