// The trace of one call as its loop sees it. On the loop a message or packet costs a copy into a block; blocks go to the writer's thread,
// which does the rest (TraceFiles.swift). What that thread cannot take is dropped and counted.

import Basics
import Reactor
import SIP

/// What passed, in its order.
struct TraceBlock: Sendable {
    enum Kind: Sendable {
        case message
        case media
    }

    struct Record: Sendable {
        var kind: Kind
        var direction: TracedMessage.Direction
        var transport: SIP.Transport
        var at: Instant
        var local: SocketAddress
        var remote: SocketAddress
        var length: Int
    }

    var records: [Record] = []
    var bytes: [UInt8] = []
}

/// Belongs to the call's loop.
final class CallTrace {
    /// Whether keys outside of secret entries can be read.
    let showsKeys: Bool
    let hasMedia: Bool
    private let tracing: CallTracing
    private let loop: EventLoop
    private let files: Locked<TraceFiles>
    private var block = TraceBlock()
    private var handedOver: Instant
    private var dropped = 0
    private var isFinished = false

    private static let interval = Duration.milliseconds(500)
    private static let mostBytes = 32_768

    init(_ call: TracedCall, settings: TraceSettings, tracing: CallTracing, loop: EventLoop) {
        self.tracing = tracing
        self.loop = loop
        showsKeys = settings.showsKeys
        hasMedia = settings.hasMedia
        handedOver = loop.now
        files = Locked(TraceFiles(call, settings: settings, start: loop.now, wall: loop.wallClock))
    }

    /// Messages are few, and wanted even when the process ends a moment later.
    func add(_ message: TracedMessage) {
        message.bytes.withUnsafeBytes {
            add(.message, $0, message.direction, message.transport, local: message.local, remote: message.remote, at: message.at)
        }
        handOver()
    }

    /// A packet of RTP or RTCP, or what came to their ports. `hides`: octets of it that nobody may see become this one.
    func add(
        _ packet: UnsafeRawBufferPointer, _ direction: TracedMessage.Direction, local: SocketAddress, remote: SocketAddress,
        at now: Instant, hiding: (range: Range<Int>, by: UInt8)?
    ) {
        let start = block.bytes.count
        add(.media, packet, direction, .udp, local: local, remote: remote, at: now)
        if let (range, octet) = hiding { for index in range { block.bytes[start + index] = octet } }
        if block.bytes.count >= Self.mostBytes || now - handedOver >= Self.interval { handOver() }
    }

    private func add(
        _ kind: TraceBlock.Kind, _ bytes: UnsafeRawBufferPointer, _ direction: TracedMessage.Direction,
        _ transport: SIP.Transport, local: SocketAddress, remote: SocketAddress, at now: Instant
    ) {
        block.records.append(
            TraceBlock.Record(
                kind: kind, direction: direction, transport: transport, at: now, local: local, remote: remote,
                length: bytes.count))
        block.bytes.append(contentsOf: bytes)
    }

    private func handOver() {
        handedOver = loop.now
        guard !block.records.isEmpty else { return }
        let full = block
        block = TraceBlock()
        block.records.reserveCapacity(full.records.count)
        block.bytes.reserveCapacity(full.bytes.count)
        if !tracing.submit({ [files, tracing] in tracing.report(files.withLock { $0.write(full) }) }) {
            dropped += full.records.count
            tracing.countDropped(full.records.count)
        }
    }

    /// The call is over for its user: its ladder is written. What still passes is added until `finish`.
    func settle() {
        handOver()
        _ = tracing.submit { [files, tracing] in tracing.report(files.withLock { $0.writeLadder(dropped: 0) }) }
    }

    /// Nothing more comes. Once or more.
    func finish() {
        guard !isFinished else { return }
        isFinished = true
        handOver()
        close()
    }

    /// Tries again while the writer has too much to do.
    private func close() {
        let dropped = dropped
        let isTaken = tracing.submit { [files, tracing] in
            tracing.report(files.withLock { $0.writeLadder(dropped: dropped) })
            let (settings, event) = files.withLock { $0.close() }
            tracing.ended(settings, event)
        }
        if !isTaken, !tracing.isStopped { loop.schedule(after: .milliseconds(50)) { self.close() } }
    }
}
