// The recording of one call. On the loop a frame costs a copy of its payload into a block; twice a second the block goes to the
// recorder's thread, which decodes, aligns both sides by their timestamps and writes (RecordingFile). What that thread cannot take is
// dropped and counted: the recording says so by `complete`.

import Audio
import Basics
import RTP
import Reactor

/// Belongs to the call's loop.
final class CallRecorder {
    let recording = Recording()
    /// The file could not be made: nothing more is to be given. Before `recording` ends.
    var onFailure: (() -> Void)?
    private let services: MediaServices
    private let file: Locked<RecordingFile>
    private var block = RecordedBlock()
    private var handedOver: Instant
    private var dropped = 0
    private var isClosed = false

    private static let interval = Duration.milliseconds(500)
    private static let mostBytes = 32_768

    init(_ request: RecordingRequest, rate: Int, services: MediaServices) {
        self.services = services
        handedOver = services.loop.now
        file = Locked(RecordingFile(request, rate: rate, start: services.loop.now))
        block.frames.reserveCapacity(64)
    }

    private var pool: WorkerPool { services.workers.recorder }

    func open() {
        let loop = services.loop
        loop.spawn { [self, file] in
            let isOpen = await persist { try await self.pool.run(on: loop) { file.withLock { $0.open() } } }
            if isOpen != true, !isClosed {
                recording.stopRecorder = nil
                onFailure?()
                close()
            }
        }
    }

    /// A frame that goes out: of our stream, which has no gaps but pauses.
    func addNear(_ payload: UnsafeRawBufferPointer, codec: Audio.AudioCodec, timestamp: UInt32, at now: Instant) {
        add(payload, RecordedFrame(side: .near, kind: .audio(codec), timestamp: timestamp, at: now))
    }

    /// A packet of the far side, in whatever order they come.
    func addFar(_ packet: RTPPacket, codec: Audio.AudioCodec, at now: Instant) {
        let isNoise = packet.payloadType == ComfortNoise.payloadType
        add(
            packet.payload,
            RecordedFrame(
                side: .far, kind: isNoise ? .noise : .audio(codec), sequence: packet.sequence, timestamp: packet.timestamp,
                at: now))
    }

    /// Another stream comes from the far side.
    func restart(at now: Instant) {
        add(UnsafeRawBufferPointer(start: nil, count: 0), RecordedFrame(side: .far, kind: .restart, at: now))
    }

    @inline(__always)
    private func add(_ payload: UnsafeRawBufferPointer, _ frame: RecordedFrame) {
        guard payload.count <= MediaServices.mostPayload else { return }
        var frame = frame
        frame.length = payload.count
        frame.isPaused = recording.isPaused
        block.frames.append(frame)
        block.bytes.append(contentsOf: payload)
        if block.bytes.count >= Self.mostBytes { handOver(frame.at) }
    }

    func tick(_ now: Instant) { if now - handedOver >= Self.interval { handOver(now) } }

    private func handOver(_ now: Instant) {
        handedOver = now
        let full = block
        block = RecordedBlock()
        block.frames.reserveCapacity(full.frames.count + 8)
        block.bytes.reserveCapacity(full.bytes.count + 512)
        do throws(WorkRefused) {
            try pool.submit { [file] in file.withLock { $0.write(full, until: now) } }
        } catch {
            dropped += full.frames.count
            services.counting.recorderDrops += UInt64(full.frames.count)
        }
    }

    /// Closes the file; `recording` ends when that is done. Once or more.
    /// - Parameter lost: of the far side's audio since the beginning.
    func close(lost: Duration = .zero) {
        guard !isClosed else { return }
        isClosed = true
        let loop = services.loop
        let last = block
        let end = loop.now
        let dropped = dropped
        block = RecordedBlock()
        loop.spawn { [self, file] in
            let result = await persist {
                try await self.pool.run(on: loop) { file.withLock { $0.finish(last, at: end, dropped: dropped) } }
            }
            var ended = result ?? RecordingResult(path: "", detail: "the recorder has been stopped")
            ended.lost = lost
            recording.finish(ended)
        }
    }

    /// Tries again while the recorder's queue is full; nil when it is stopped.
    private func persist<Result>(_ work: () async throws -> Result) async -> Result? {
        while true {
            do {
                return try await work()
            } catch WorkRefused.full {
                guard (try? await services.loop.sleep(for: .milliseconds(50))) != nil else { return nil }
            } catch {
                return nil
            }
        }
    }
}
