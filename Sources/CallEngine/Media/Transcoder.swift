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
    /// nil: the next frame begins anew.
    private var encoder: FrameEncoder?
    private let frame: Int
    /// From `start` on they wait; before it lie those of frames that were left out.
    private var samples: [Int16] = []
    private var start = 0
    /// Frames before `start` that the encoder has not seen: the last ones that were left out, at most `mostTaught`.
    private var untaught = 0
    private let mostTaught: Int

    /// More than that is too late to be heard: while a prompt plays, nothing is taken.
    private static let mostFrames = 4
    /// What a codec remembers of what it has encoded, in milliseconds.
    private static let memory = 200

    init(_ codec: Audio.AudioCodec, rate: Int, packetTime: Int) {
        self.codec = codec
        self.rate = rate
        self.packetTime = packetTime
        frame = rate * packetTime / 1000
        mostTaught = codec.remembers ? (Self.memory + packetTime - 1) / packetTime : 0
    }

    private var waiting: Int { samples.count - start }

    func put(_ next: UnsafeBufferPointer<Int16>) {
        samples.append(contentsOf: next)
        let most = frame * Self.mostFrames + next.count
        if waiting > most {
            start = samples.count - most
            untaught = 0
        }
        // Seldom, so that little is moved.
        if start > frame * 2 * (mostTaught + Self.mostFrames) {
            let kept = untaught * frame
            samples.removeFirst(start - kept)
            start = kept
        }
    }

    func put(_ samples: [Int16]) { samples.withUnsafeBufferPointer { put($0) } }

    /// The listener hears something else: what comes behind that does not follow what was encoded before, and is not late.
    func interrupt() {
        encoder = nil
        guard waiting > frame else { return }
        start = samples.count - frame
        untaught = 0
    }

    /// Leaves a frame out, without the time that encoding it takes: the listener hears another encoding of about the same. False when there is
    /// not enough for one.
    func skip() -> Bool {
        guard waiting >= frame else { return false }
        start += frame
        untaught = min(untaught + 1, mostTaught)
        return true
    }

    /// Encodes a frame to the front of `output`; nil when there is not enough for one. 0 octets are a pause.
    func next(to output: UnsafeMutableRawBufferPointer) -> Int? {
        guard waiting >= frame else { return nil }
        // The listener's decoder has heard them, so the encoder has to have as well.
        while untaught > 0 {
            _ = encode(from: start - untaught * frame, to: output)
            untaught -= 1
        }
        let octets = encode(from: start, to: output)
        start += frame
        return codec.isPause(octets: octets) ? 0 : octets
    }

    private func encode(from first: Int, to output: UnsafeMutableRawBufferPointer) -> Int {
        if encoder == nil { encoder = FrameEncoder(codec, rate: rate, isLive: true) }
        return samples.withUnsafeBufferPointer {
            encoder!.encode(UnsafeBufferPointer(rebasing: $0[first..<first + frame]), into: output.bindMemory(to: UInt8.self))
        }
    }
}

extension Audio.AudioCodec {
    /// Whether what an encoder makes of a frame follows from the frames before.
    var remembers: Bool {
        switch self {
        case .g722, .opus: true
        case .pcmu, .pcma, .l16, .g729: false
        }
    }
}
