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
    @exclusivity(unchecked) var captures = CaptureWatch()

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
            lead = ClockLead.measured()
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
    /// A slot holds a cmsghdr and a timespec, and a cmsghdr and an int.
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

    /// What the kernel tells about one of the datagrams read: when it reached the host, in nanoseconds of the wall clock, and the length of
    /// those it is made of, when it is several that came as one. Nil what it does not tell. Before `datagram`.
    @inline(__always)
    func notes(_ index: Int) -> (stamp: Int64?, segment: Int?) {
        let length = headers[index].msg_hdr.msg_controllen
        var notes: (stamp: Int64?, segment: Int?) = (nil, nil)
        var part = controls + index * Self.controlStride
        let end = part + length
        // struct cmsghdr { size_t len; int level; int type; } and a struct timespec, or an int.
        while part + 20 <= end {
            let size = part.load(as: Int.self)
            let kind = (part.load(fromByteOffset: 8, as: Int32.self), part.load(fromByteOffset: 12, as: Int32.self))
            if kind == (SOL_SOCKET, SO_TIMESTAMPNS), size >= 32 {
                let seconds = part.load(fromByteOffset: 16, as: Int64.self)
                notes.stamp = seconds &* 1_000_000_000 &+ part.load(fromByteOffset: 24, as: Int64.self)
            } else if kind == (SegmentOption.level, SegmentOption.joined) {
                notes.segment = Int(part.load(fromByteOffset: 16, as: Int32.self))
            }
            guard size >= 16 else { break }
            part += (size + 7) & ~7
        }
        return notes
    }
}
