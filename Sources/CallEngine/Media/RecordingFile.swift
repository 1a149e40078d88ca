// The recorder thread's part of a recording: both sides' packets become samples at their places, and go to the file.

import Audio
import Basics

/// One frame on its way to the thread; its payload lies in the block.
struct RecordedFrame: Sendable {
    enum Kind: Sendable {
        case audio(Audio.AudioCodec)
        case noise
        /// The side begins anew.
        case restart
    }

    var side: RecordingMixer.Side
    var kind: Kind
    var sequence: UInt16 = 0
    var timestamp: UInt32 = 0
    var at: Instant
    var length = 0
    var isPaused = false
}

/// Frames of both sides, in the order in which they came and went.
struct RecordedBlock: Sendable {
    var frames: [RecordedFrame] = []
    var bytes: [UInt8] = []
}

/// One recording's file and what leads to it.
final class RecordingFile {
    private let request: RecordingRequest
    private let rate: Int
    private var mixer: RecordingMixer
    private var writer: (any AudioFileWriter)?
    private var failure: String?
    /// Of frames that cannot be decoded: they are silent in the file.
    private var undecoded: String?
    private let far: RecordedSide
    private let near: RecordedSide
    private var settled: [Int16] = []

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
        far = RecordedSide(.far, rate: rate)
        near = RecordedSide(.near, rate: rate)
    }

    /// Whether the file could be made.
    func open() -> Bool {
        do throws(AudioFileError) {
            writer = try AudioFileFormat(path: request.path).writer(
                path: request.path, rate: rate, channels: mixer.layout.channels)
            return true
        } catch {
            failure = error.description
            return false
        }
    }

    func write(_ block: RecordedBlock, until now: Instant) {
        var position = 0
        block.bytes.withUnsafeBytes { bytes in
            for frame in block.frames {
                let payload = UnsafeRawBufferPointer(rebasing: bytes[position..<position + frame.length])
                position += frame.length
                if case .audio(let codec) = frame.kind, !codec.isCoded { undecoded = codec.notDecoded }
                (frame.side == .far ? far : near).take(frame, payload, into: &mixer)
                far.settle(until: frame.at, into: &mixer)
                mixer.drain(at: frame.at, into: &settled)
            }
        }
        far.settle(until: now, into: &mixer)
        mixer.drain(at: now, into: &settled)
        put()
        writer?.flush()
    }

    private func put() {
        settled.withUnsafeBufferPointer { _ = writer?.append($0) }
        settled.removeAll(keepingCapacity: true)
    }

    func finish(_ block: RecordedBlock, at end: Instant, dropped: Int) -> RecordingResult {
        write(block, until: end)
        far.finish(at: end, into: &mixer)
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
        result.complete = written.error == nil && dropped == 0 && undecoded == nil
        if let error = written.error {
            result.detail = error.description
        } else if dropped > 0 {
            result.detail = "\(dropped) frames were dropped on the way to the disk"
        } else if let undecoded {
            result.detail = undecoded
        }
        return result
    }
}
