// What waits to be sent by a socket, and its way into sendmmsg(2).

import Basics
import CLinux

/// Datagrams that wait to be sent: their bytes lie one after the other.
final class SendQueue {
    struct Entry {
        var offset: Int
        var length: Int
        var address: KernelAddress
        /// To a connected socket's peer: the kernel knows the address.
        var isToPeer: Bool
    }

    @exclusivity(unchecked) private(set) var entries: [Entry] = []
    @exclusivity(unchecked) private(set) var bytes = UnsafeMutableRawPointer.allocate(byteCount: 16_384, alignment: 16)
    @exclusivity(unchecked) private var capacity = 16_384
    @exclusivity(unchecked) private var used = 0
    /// The first entry that has not gone.
    @exclusivity(unchecked) var head = 0

    var count: Int { entries.count - head }

    deinit { bytes.deallocate() }

    @inline(__always)
    func append(_ datagram: UnsafeRawBufferPointer, to address: KernelAddress, isToPeer: Bool) {
        if used + datagram.count > capacity { grow(to: used + datagram.count) }
        if let base = datagram.baseAddress { (bytes + used).copyMemory(from: base, byteCount: datagram.count) }
        entries.append(Entry(offset: used, length: datagram.count, address: address, isToPeer: isToPeer))
        used += datagram.count
    }

    private func grow(to least: Int) {
        let larger = max(capacity * 2, least)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        moved.copyMemory(from: bytes, byteCount: used)
        bytes.deallocate()
        bytes = moved
        capacity = larger
    }

    /// Gives up the room of what has gone, so that a queue that never gets empty does not grow.
    func compact() {
        guard head > 0, head < entries.count else { return }
        let begin = entries[head].offset
        bytes.copyMemory(from: bytes + begin, byteCount: used - begin)
        entries.removeFirst(head)
        for index in entries.indices { entries[index].offset -= begin }
        used -= begin
        head = 0
    }

    func reset() {
        entries.removeAll(keepingCapacity: true)
        head = 0
        used = 0
    }

    /// Hands the next up to 64 entries to sendmmsg(2), and tells how many it took.
    /// - Parameter segmented: runs of them go as one datagram each that the kernel cuts.
    @inline(__always)
    func sendSome(_ descriptor: Int32, _ scratch: SendHeaders, segmented: Bool) -> SystemCall.Outcome {
        let amount = min(count, SendHeaders.count)
        let bytes = self.bytes
        return entries.withUnsafeMutableBufferPointer { entries in
            var (index, headers) = (0, 0)
            while index < amount {
                let entry = entries.baseAddress! + head + index
                let run = segmented ? Self.run(from: entry, atMost: amount - index) : (count: 1, length: entry.pointee.length)
                scratch.vectors[headers] = iovec(iov_base: bytes + entry.pointee.offset, iov_len: run.length)
                let header = scratch.headers + headers
                let isToPeer = entry.pointee.isToPeer
                header.pointee.msg_hdr.msg_name = isToPeer ? nil : UnsafeMutableRawPointer(entry).advanced(by: Self.addressOffset)
                header.pointee.msg_hdr.msg_namelen = isToPeer ? 0 : entry.pointee.address.length
                scratch.cut(headers, into: run.count, of: entry.pointee.length)
                headers += 1
                index += run.count
            }
            let outcome = SystemCall.attempt {
                rw_sendmmsg(descriptor, scratch.headers, UInt32(headers), Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            }
            guard case .done(let sent) = outcome else { return outcome }
            scratch.segmented = 0
            var taken = 0
            for header in 0..<sent {
                let run = scratch.runs[header]
                taken += run
                if run > 1 { scratch.segmented += run }
            }
            return .done(taken)
        }
    }

    /// How many of the entries from here on can go as one, and how many octets that are: they lie one behind the other, have one length, of which
    /// the last may fall short, and go to one address.
    @inline(__always)
    private static func run(from first: UnsafeMutablePointer<Entry>, atMost limit: Int) -> (count: Int, length: Int) {
        let length = first.pointee.length
        var (count, total) = (1, length)
        guard 1...longestSegment ~= length else { return (count, total) }
        while count < limit, 1...length ~= first[count].length, total + length <= longestRun,
            first[count].isToPeer == first.pointee.isToPeer,
            first[count].address.isSame(as: first.pointee.address)
        {
            total += first[count].length
            count += 1
            guard first[count - 1].length == length else { break }
        }
        return (count, total)
    }

    /// What fits into an Ethernet frame behind the headers of IPv6 and UDP. The kernel cuts, but fragments nothing that it cut.
    private static let longestSegment = 1452
    /// What one UDP datagram holds.
    private static let longestRun = 65_000

    private static let addressOffset =
        MemoryLayout<Entry>.offset(of: \.address)! + MemoryLayout<KernelAddress>.offset(of: \.storage)!
}

/// The headers of one sendmmsg(2).
final class SendHeaders {
    static let count = 64
    let vectors = UnsafeMutablePointer<iovec>.allocate(capacity: count)
    let headers = UnsafeMutablePointer<rw_mmsghdr>.allocate(capacity: count)
    /// How many datagrams each of the headers stands for.
    let runs = UnsafeMutablePointer<Int>.allocate(capacity: count)
    /// How many datagrams of the latest call went in runs.
    @exclusivity(unchecked) var segmented = 0
    /// A slot holds a cmsghdr with a number of 16 bits.
    private let controls = UnsafeMutableRawPointer.allocate(byteCount: count * controlStride, alignment: 8)
    private static let controlStride = 24

    init() {
        for index in 0..<Self.count {
            (vectors + index).initialize(to: iovec())
            var header = rw_mmsghdr()
            header.msg_hdr.msg_iov = vectors + index
            header.msg_hdr.msg_iovlen = 1
            (headers + index).initialize(to: header)
            (runs + index).initialize(to: 1)
            // struct cmsghdr { size_t len; int level; int type; } and the length of a segment.
            let control = controls + index * Self.controlStride
            control.initializeMemory(as: UInt8.self, repeating: 0, count: Self.controlStride)
            control.storeBytes(of: 18, as: Int.self)
            control.storeBytes(of: SegmentOption.level, toByteOffset: 8, as: Int32.self)
            control.storeBytes(of: SegmentOption.cut, toByteOffset: 12, as: Int32.self)
        }
    }

    deinit {
        vectors.deallocate()
        headers.deallocate()
        runs.deallocate()
        controls.deallocate()
    }

    /// Lets a header stand for `run` datagrams of `length` octets.
    @inline(__always)
    func cut(_ index: Int, into run: Int, of length: Int) {
        runs[index] = run
        let isCut = run > 1
        if isCut { (controls + index * Self.controlStride).storeBytes(of: UInt16(length), toByteOffset: 16, as: UInt16.self) }
        headers[index].msg_hdr.msg_control = isCut ? controls + index * Self.controlStride : nil
        headers[index].msg_hdr.msg_controllen = isCut ? Self.controlStride : 0
    }
}
