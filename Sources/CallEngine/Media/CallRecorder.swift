// The recording of one call. On the loop a frame costs a copy of its payload into a block; twice a second the block goes to the
// recorder's thread, which decodes, aligns both sides by their timestamps and writes. What that thread cannot take is dropped and
// counted: the recording says so by `complete`.

import Audio
import Basics
import Reactor

/// Frames of both sides, in the order in which they came and went.
private struct RecordedBlock: Sendable {
    struct Frame: Sendable {
        var side: RecordingMixer.Side
        /// nil: the side begins anew.
        var codec: Audio.AudioCodec?
        var timestamp: UInt32
        var at: Instant
        var length: Int
        var isPaused: Bool
    }

    var frames: [Frame] = []
    var bytes: [UInt8] = []
}

/// The thread's part.
private final class RecordingFile {
    private let request: RecordingRequest
    private let rate: Int
    private var mixer: RecordingMixer
    private var writer: WaveWriter?
    private var failure: String?
    /// By side.
    private var decoders: [FrameDecoder?] = [nil, nil]
    private var settled: [Int16] = []
    private var decoded = [Int16](repeating: 0, count: MediaServices.mostSamples)

    init(_ request: RecordingRequest, rate: Int, start: Instant) {
        self.request = request
        self.rate = rate
        let layout: RecordingMixer.Layout =
            switch request.channels {
            case .mono: .mono
            case .stereo: .stereo
            case .caller: .far
            }
        mixer = RecordingMixer(layout: layout, rate: rate, start: start)
    }

    /// Whether the file could be made.
    func open() -> Bool {
        do throws(WaveError) {
            writer = try WaveWriter(path: request.path, rate: rate, channels: mixer.layout.channels)
            return true
        } catch {
            failure = error.description
            return false
        }
    }

    func write(_ block: RecordedBlock, until now: Instant) {
        var position = 0
        for frame in block.frames {
            defer { position += frame.length }
            guard let codec = frame.codec else {
                mixer.restart(frame.side)
                continue
            }
            mixer.isPaused = frame.isPaused
            let decoder = decoder(codec, frame.side)
            let count = block.bytes.withUnsafeBytes { bytes in
                decoded.withUnsafeMutableBufferPointer { samples in
                    decoder.decode(UnsafeRawBufferPointer(rebasing: bytes[position..<position + frame.length]), into: samples)
                }
            }
            mixer.drain(at: frame.at, into: &settled)
            decoded.withUnsafeBufferPointer { samples in
                mixer.add(
                    frame.side, timestamp: frame.timestamp, samples: UnsafeBufferPointer(rebasing: samples[..<count]),
                    at: frame.at)
            }
        }
        mixer.drain(at: now, into: &settled)
        put()
        writer?.flush()
    }

    private func decoder(_ codec: Audio.AudioCodec, _ side: RecordingMixer.Side) -> FrameDecoder {
        if let decoder = decoders[side.rawValue], decoder.codec.isSameEncoding(as: codec) { return decoder }
        let decoder = FrameDecoder(codec, rate: rate)
        decoders[side.rawValue] = decoder
        mixer.restart(side, clockRate: codec.clockRate)
        return decoder
    }

    private func put() {
        settled.withUnsafeBufferPointer { _ = writer?.append($0) }
        settled.removeAll(keepingCapacity: true)
    }

    func finish(_ block: RecordedBlock, at end: Instant, dropped: Int) -> RecordingResult {
        write(block, until: end)
        mixer.finish(at: end, into: &settled)
        put()
        var result = RecordingResult(path: request.path)
        guard let writer else {
            result.detail = failure ?? "the file was not made"
            return result
        }
        let written = writer.finish()
        result.length = written.length
        result.bytes = written.bytes
        result.checksum = written.checksum
        result.complete = written.error == nil && dropped == 0
        if let error = written.error {
            result.detail = error.description
        } else if dropped > 0 {
            result.detail = "\(dropped) frames were dropped on the way to the disk"
        }
        return result
    }
}

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

    @inline(__always)
    func add(
        _ side: RecordingMixer.Side, _ payload: UnsafeRawBufferPointer, codec: Audio.AudioCodec, timestamp: UInt32,
        at now: Instant
    ) {
        guard payload.count <= MediaServices.mostPayload else { return }
        block.frames.append(
            RecordedBlock.Frame(
                side: side, codec: codec, timestamp: timestamp, at: now, length: payload.count, isPaused: recording.isPaused))
        block.bytes.append(contentsOf: payload)
        if block.bytes.count >= Self.mostBytes { handOver(now) }
    }

    /// The side's timestamps begin anew.
    func restart(_ side: RecordingMixer.Side) {
        block.frames.append(
            RecordedBlock.Frame(side: side, codec: nil, timestamp: 0, at: handedOver, length: 0, isPaused: false))
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
    func close() {
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
            recording.finish(result ?? RecordingResult(path: "", detail: "the recorder has been stopped"))
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
