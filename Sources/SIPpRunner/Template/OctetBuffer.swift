// Where messages are put together: one buffer of a run, written again and again.

/// Octets that grow at their end; the memory stays when it is emptied.
package final class OctetBuffer {
    private var base: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    package private(set) var count = 0

    package init(capacity: Int = 8192) {
        self.capacity = capacity
        base = .allocate(capacity: capacity)
    }

    deinit { base.deallocate() }

    /// Lent until the next change.
    package var octets: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }
    package var array: [UInt8] { Array(UnsafeBufferPointer(start: base, count: count)) }
    package var last: UInt8? { count > 0 ? base[count - 1] : nil }

    package subscript(index: Int) -> UInt8 { base[index] }

    package func removeAll() { count = 0 }

    @inline(__always)
    private func reserve(_ more: Int) {
        if count + more > capacity { grow(more) }
    }

    private func grow(_ more: Int) {
        capacity = max(capacity * 2, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: base, count: count)
        base.deallocate()
        base = larger
    }

    @inline(__always)
    package func append(_ octets: UnsafeBufferPointer<UInt8>) {
        reserve(octets.count)
        if let source = octets.baseAddress { (base + count).update(from: source, count: octets.count) }
        count += octets.count
    }

    @inline(__always)
    package func append(_ octets: [UInt8]) { octets.withUnsafeBufferPointer { append($0) } }

    package func append(_ octets: ArraySlice<UInt8>) { octets.withUnsafeBufferPointer { append($0) } }

    package func append(_ octet: UInt8) {
        reserve(1)
        base[count] = octet
        count += 1
    }

    package func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package func append(text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    /// A whole number in decimal digits.
    package func append(number: Int) {
        reserve(20)
        if number < 0 {
            base[count] = UInt8(ascii: "-")
            count += 1
        }
        var rest = number.magnitude
        var digits = 1
        var above: UInt = 10
        while rest >= above, digits < 19 {
            digits &+= 1
            above &*= 10
        }
        count += digits
        var at = count
        repeat {
            at &-= 1
            base[at] = UInt8(truncatingIfNeeded: 48 &+ rest % 10)
            rest /= 10
        } while rest > 0
    }

    /// Writes a number to the right of a field that is there already.
    package func write(number: Int, rightOf start: Int, width: Int) {
        var rest = max(0, number)
        var at = start + width
        repeat {
            at -= 1
            base[at] = 48 + UInt8(rest % 10)
            rest /= 10
        } while rest > 0 && at > start
    }

    /// Puts octets between those that are there.
    package func insert(_ octets: [UInt8], at place: Int) {
        reserve(octets.count)
        (base + place + octets.count).update(from: base + place, count: count - place)
        octets.withUnsafeBufferPointer { (base + place).update(from: $0.baseAddress!, count: octets.count) }
        count += octets.count
    }

    /// Takes out the line end before `place`, when there is one: the line of a keyword that had nothing to say.
    package func remove(_ range: Range<Int>) {
        (base + range.lowerBound).update(from: base + range.upperBound, count: count - range.upperBound)
        count -= range.count
    }
}
