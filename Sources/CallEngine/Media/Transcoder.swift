// Samples come each tick of the one who speaks, encoded frames go each tick of the one who hears; the two packet times may differ. One
// direction of a bridge between legs with different codecs, or what members of a conference hear.

import Audio

/// Encodes what one leg said, or several, for another. Belongs to its loop.
final class Transcoder {
    let codec: Audio.AudioCodec
    /// Of the samples that come in, in Hz.
    let rate: Int
    /// In milliseconds.
    let packetTime: Int
    private let encoder: FrameEncoder
    private let frame: Int
    private var waiting: [Int16] = []

    /// More than that is too late to be heard: while a prompt plays, nothing is taken.
    private static let mostFrames = 4

    init(_ codec: Audio.AudioCodec, rate: Int, packetTime: Int) {
        self.codec = codec
        self.rate = rate
        self.packetTime = packetTime
        encoder = FrameEncoder(codec, rate: rate, isLive: true)
        frame = rate * packetTime / 1000
    }

    func put(_ samples: UnsafeBufferPointer<Int16>) {
        waiting.append(contentsOf: samples)
        let most = frame * Self.mostFrames + samples.count
        if waiting.count > most { waiting.removeFirst(waiting.count - most) }
    }

    func put(_ samples: [Int16]) { samples.withUnsafeBufferPointer { put($0) } }

    /// Leaves a frame out, without the time that encoding it takes; false when there is not enough for one.
    func skip() -> Bool {
        guard waiting.count >= frame else { return false }
        waiting.removeFirst(frame)
        return true
    }

    /// Encodes a frame to the front of `output`; nil when there is not enough for one. 0 octets are a pause.
    func next(to output: UnsafeMutableRawBufferPointer) -> Int? {
        guard waiting.count >= frame else { return nil }
        let octets = waiting.withUnsafeBufferPointer {
            encoder.encode(UnsafeBufferPointer(rebasing: $0[..<frame]), into: output.bindMemory(to: UInt8.self))
        }
        waiting.removeFirst(frame)
        return codec.isPause(octets: octets) ? 0 : octets
    }
}
