import Basics
import CLinux

/// The buffers of a loop's sockets: one of each kind serves all sockets, because one is in use at a time (a second is made when a
/// callback reads another socket, and kept).
final class LoopBuffers {
    /// One is in use at a time, but for callbacks that read another socket.
    private let first = ReceiveBatch()
    @exclusivity(unchecked) private var firstIsTaken = false
    @exclusivity(unchecked) private var receiving: [ReceiveBatch] = []
    @exclusivity(unchecked) private var sending: [SendQueue] = []
    /// For `sendmmsg`.
    let headers = SendHeaders()
    private var streamBuffers: [UnsafeMutableRawBufferPointer] = []

    static let streamBufferSize = 65_536

    /// The datagram of the last look at a socket (`DatagramSocket.look`), and where it came from. 64 KiB hold any.
    let looked = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 64)
    let source = UnsafeMutablePointer<sockaddr_in6>.allocate(capacity: 1)

    @exclusivity(unchecked) private var leadMeasured = Instant.never
    @exclusivity(unchecked) private var lead: Int64 = 0

    /// How far the wall clock, by which the kernel stamps datagrams, is ahead of the loop's: measured once a turn.
    @inline(__always)
    func wallClockLead(at now: Instant) -> Int64 {
        if leadMeasured.nanoseconds != now.nanoseconds {
            leadMeasured = now
            let (wall, monotonic) = SystemCall.bothClocks()
            lead = wall - monotonic
        }
        return lead
    }

    @inline(__always)
    func takeReceiveBatch() -> ReceiveBatch {
        guard firstIsTaken else {
            firstIsTaken = true
            return first
        }
        return receiving.popLast() ?? ReceiveBatch()
    }

    @inline(__always)
    func giveBack(_ batch: ReceiveBatch) {
        if batch === first { firstIsTaken = false } else { receiving.append(batch) }
    }

    func takeSendQueue() -> SendQueue { sending.popLast() ?? SendQueue() }
    func giveBack(_ queue: SendQueue) {
        queue.reset()
        if sending.count < 32 { sending.append(queue) }
    }

    func takeStreamBuffer() -> UnsafeMutableRawBufferPointer {
        streamBuffers.popLast() ?? .allocate(byteCount: Self.streamBufferSize, alignment: 64)
    }
    func giveBack(_ buffer: UnsafeMutableRawBufferPointer) { streamBuffers.append(buffer) }

    func release() {
        receiving = []
        sending = []
        for buffer in streamBuffers { buffer.deallocate() }
        streamBuffers = []
    }

    deinit {
        release()
        looked.deallocate()
        source.deallocate()
    }
}

/// Room for one recvmmsg(2): 64 datagrams of any size. Pages that no datagram ever reached take no memory.
final class ReceiveBatch {
    static let count = 64
    /// 64 KiB hold any datagram; the odd rest keeps the slots' first lines from falling into one set of the cache.
    private static let stride = 65_536 + 192

    private let bytes = UnsafeMutableRawPointer.allocate(byteCount: count * stride, alignment: 64)
    private let vectors = UnsafeMutablePointer<iovec>.allocate(capacity: count)
    private let names = UnsafeMutablePointer<sockaddr_in6>.allocate(capacity: count)
    private let headers = UnsafeMutablePointer<rw_mmsghdr>.allocate(capacity: count)
    /// A slot holds a cmsghdr and a timespec.
    private let controls = UnsafeMutableRawPointer.allocate(byteCount: count * controlStride, alignment: 16)
    private static let controlStride = 64

    init() {
        for index in 0..<Self.count {
            vectors[index] = iovec(iov_base: bytes + index * Self.stride, iov_len: 65_536)
            (names + index).initialize(to: sockaddr_in6())
            var header = rw_mmsghdr()
            header.msg_hdr.msg_name = UnsafeMutableRawPointer(names + index)
            header.msg_hdr.msg_namelen = socklen_t(MemoryLayout<sockaddr_in6>.size)
            header.msg_hdr.msg_iov = vectors + index
            header.msg_hdr.msg_iovlen = 1
            header.msg_hdr.msg_control = controls + index * Self.controlStride
            header.msg_hdr.msg_controllen = Self.controlStride
            (headers + index).initialize(to: header)
        }
    }

    deinit {
        bytes.deallocate()
        controls.deallocate()
        vectors.deallocate()
        names.deallocate()
        headers.deallocate()
    }

    /// Reads up to 64 datagrams.
    @inline(__always)
    func read(_ descriptor: Int32) -> SystemCall.Outcome {
        SystemCall.attempt { rw_recvmmsg(descriptor, headers, UInt32(Self.count), Int32(MSG_DONTWAIT)) }
    }

    /// One of the datagrams read; its slot is made ready for the next read.
    @inline(__always)
    func datagram(_ index: Int) -> (UnsafeRawBufferPointer, SocketAddress) {
        headers[index].msg_hdr.msg_namelen = socklen_t(MemoryLayout<sockaddr_in6>.size)
        headers[index].msg_hdr.msg_controllen = Self.controlStride
        return (
            UnsafeRawBufferPointer(start: bytes + index * Self.stride, count: Int(headers[index].msg_len)),
            KernelAddress.read(names + index)
        )
    }

    /// When one of the datagrams read reached the host, in nanoseconds of the wall clock; nil when the kernel does not tell. Before
    /// `datagram`.
    @inline(__always)
    func stamp(_ index: Int) -> Int64? {
        let length = headers[index].msg_hdr.msg_controllen
        // struct cmsghdr { size_t len; int level; int type; } and a struct timespec.
        let control = controls + index * Self.controlStride
        guard length >= 32, control.load(fromByteOffset: 8, as: Int32.self) == SOL_SOCKET,
            control.load(fromByteOffset: 12, as: Int32.self) == SO_TIMESTAMPNS
        else { return nil }
        return control.load(fromByteOffset: 16, as: Int64.self) &* 1_000_000_000
            &+ control.load(fromByteOffset: 24, as: Int64.self)
    }
}

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
                let run = segmented ? Self.run(from: entry, atMost: amount - index) : 1
                scratch.vectors[headers] = iovec(iov_base: bytes + entry.pointee.offset, iov_len: entry.pointee.length * run)
                let header = scratch.headers + headers
                let isToPeer = entry.pointee.isToPeer
                header.pointee.msg_hdr.msg_name = isToPeer ? nil : UnsafeMutableRawPointer(entry).advanced(by: Self.addressOffset)
                header.pointee.msg_hdr.msg_namelen = isToPeer ? 0 : entry.pointee.address.length
                scratch.cut(headers, into: run, of: entry.pointee.length)
                headers += 1
                index += run
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

    /// How many of the entries from here on can go as one: they lie one behind the other, have one length and go to one address.
    @inline(__always)
    private static func run(from first: UnsafeMutablePointer<Entry>, atMost limit: Int) -> Int {
        let length = first.pointee.length
        guard 1...longestSegment ~= length else { return 1 }
        var run = 1
        while run < limit, first[run].length == length, (run + 1) * length <= longestRun,
            first[run].isToPeer == first.pointee.isToPeer,
            first[run].address.isSame(as: first.pointee.address)
        {
            run += 1
        }
        return run
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
    /// SOL_UDP and UDP_SEGMENT of <netinet/udp.h>.
    private static let (udp, segment): (Int32, Int32) = (17, 103)

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
            control.storeBytes(of: Self.udp, toByteOffset: 8, as: Int32.self)
            control.storeBytes(of: Self.segment, toByteOffset: 12, as: Int32.self)
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
