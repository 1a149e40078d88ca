// One side of a recording: packets in whatever order they came become samples in theirs. A recording is in no hurry, so it waits for what
// is late as long as the mixer's window allows; what is then still missing is concealed, and pauses are what they are.
//
//   the next number         decoded
//   numbers are missing     waited for; then concealed, up to `mostConcealed`; Opus takes the copy that the next packet carries
//   timestamps jump, numbers do not     a pause: comfort noise where it was announced, else silence
//   an older number         its time is over

import Audio
import Basics

final class RecordedSide {
    private struct Waiting {
        var frame: RecordedFrame
        var payload: [UInt8]
    }

    private let side: RecordingMixer.Side
    private let rate: Int
    private var decoder: FrameDecoder?
    /// By number. None for our own side, whose frames come in order.
    private var waiting: [Waiting] = []
    /// What comes next, when it is known.
    private var next: (sequence: UInt16, timestamp: UInt32)?
    /// Comfort noise that goes on from a timestamp, which lies at an instant.
    private var noise: (source: ComfortNoise, timestamp: UInt32, at: Instant)?
    private var isPaused = false
    private var samples = [Int16](repeating: 0, count: MediaServices.mostSamples)

    /// How long a missing packet is waited for: with its frame it fits into the mixer's window.
    private static let patience = Duration.milliseconds(120)
    private static let mostConcealed = Duration.milliseconds(120)
    /// Noise is made in pieces of this length.
    private static let piece = Duration.milliseconds(20)

    init(_ side: RecordingMixer.Side, rate: Int) {
        self.side = side
        self.rate = rate
    }

    func take(_ frame: RecordedFrame, _ payload: UnsafeRawBufferPointer, into mixer: inout RecordingMixer) {
        if case .restart = frame.kind {
            finish(at: frame.at, into: &mixer)
            (next, noise, decoder) = (nil, nil, nil)
            mixer.restart(side)
        } else if side == .near {
            isPaused = frame.isPaused
            place(frame, payload, into: &mixer)
        } else if waiting.isEmpty, frame.sequence == next?.sequence {
            emit(frame, payload, into: &mixer)
        } else {
            let place = waiting.lastIndex { Int16(bitPattern: $0.frame.sequence &- frame.sequence) < 0 } ?? -1
            waiting.insert(Waiting(frame: frame, payload: Array(payload)), at: place + 1)
        }
    }

    /// Places what need not wait any longer.
    func settle(until now: Instant, into mixer: inout RecordingMixer) {
        while let first = waiting.first, first.frame.sequence == next?.sequence ?? first.frame.sequence || isOverdue(first, now) {
            waiting.removeFirst()
            first.payload.withUnsafeBytes { emit(first.frame, $0, into: &mixer) }
        }
        fillNoise(until: now - Self.patience, into: &mixer)
    }

    private func isOverdue(_ waiting: Waiting, _ now: Instant) -> Bool { now - waiting.frame.at >= Self.patience }

    /// Nothing more comes.
    func finish(at end: Instant, into mixer: inout RecordingMixer) {
        for left in waiting { left.payload.withUnsafeBytes { emit(left.frame, $0, into: &mixer) } }
        waiting = []
        fillNoise(until: end, into: &mixer)
    }

    // MARK: In order

    private func emit(_ frame: RecordedFrame, _ payload: UnsafeRawBufferPointer, into mixer: inout RecordingMixer) {
        isPaused = frame.isPaused
        if let next {
            let skipped = Int16(bitPattern: frame.sequence &- next.sequence)
            guard skipped >= 0 else { return }
            if skipped > 0, noise == nil { conceal(frame, payload, from: next.timestamp, into: &mixer) }
        }
        next = (frame.sequence &+ 1, frame.timestamp)
        fillNoise(before: frame, into: &mixer)
        if case .noise = frame.kind {
            var source = noise?.source ?? ComfortNoise(payload)
            source.change(to: payload)
            noise = (source, frame.timestamp, frame.at)
        } else {
            noise = nil
            place(frame, payload, into: &mixer)
        }
    }

    private func place(_ frame: RecordedFrame, _ payload: UnsafeRawBufferPointer, into mixer: inout RecordingMixer) {
        guard case .audio(let codec) = frame.kind else { return }
        let decoder = decoder(for: codec, in: &mixer)
        let count = samples.withUnsafeMutableBufferPointer { decoder.decode(payload, into: $0) }
        add(count, timestamp: frame.timestamp, at: frame.at, into: &mixer)
        next?.timestamp = frame.timestamp &+ UInt32(codec.ticks(in: payload))
    }

    private func decoder(for codec: Audio.AudioCodec, in mixer: inout RecordingMixer) -> FrameDecoder {
        if let decoder, decoder.codec.isSameEncoding(as: codec) { return decoder }
        let decoder = FrameDecoder(codec, rate: rate, conceals: side == .far)
        if self.decoder?.codec.clockRate != codec.clockRate { mixer.restart(side, clockRate: codec.clockRate) }
        self.decoder = decoder
        return decoder
    }

    /// Makes up what lies between a timestamp and a frame, a packet's length at a time; the last one by the copy that the frame may carry.
    private func conceal(
        _ frame: RecordedFrame, _ payload: UnsafeRawBufferPointer, from timestamp: UInt32, into mixer: inout RecordingMixer
    ) {
        guard case .audio(let codec) = frame.kind, let decoder, decoder.codec.isSameEncoding(as: codec) else { return }
        let (clock, length) = (codec.clockRate, codec.ticks(in: payload))
        let gap = Int(Int32(bitPattern: frame.timestamp &- timestamp))
        guard gap > 0, gap <= AudioClip.samples(in: Self.mostConcealed, rate: clock), length > 0 else { return }
        var done = 0
        while done < gap {
            let piece = (gap - done) % length == 0 ? length : (gap - done) % length
            let isLast = done + length == gap
            let count = min(piece * rate / clock, samples.count)
            samples.withUnsafeMutableBufferPointer {
                decoder.conceal(into: UnsafeMutableBufferPointer(rebasing: $0[..<count]), before: isLast ? payload : nil)
            }
            add(count, timestamp: timestamp &+ UInt32(done), at: frame.at, into: &mixer)
            done += piece
        }
    }

    private func fillNoise(until now: Instant, into mixer: inout RecordingMixer) {
        guard let clock = decoder?.codec.clockRate else { return }
        while let at = noise?.at, now - at >= Self.piece { addNoise(clock, into: &mixer) }
    }

    /// The noise goes on until this frame, whatever the frame is: by its timestamp, as far as its arrival bears that out.
    private func fillNoise(before frame: RecordedFrame, into mixer: inout RecordingMixer) {
        guard let clock = decoder?.codec.clockRate else { return }
        while let noise, Int32(bitPattern: frame.timestamp &- noise.timestamp) >= Int32(clock / 50),
            noise.at - frame.at < Self.patience
        {
            addNoise(clock, into: &mixer)
        }
    }

    private func addNoise(_ clock: Int, into mixer: inout RecordingMixer) {
        guard let (_, timestamp, at) = noise else { return }
        let count = rate / 50
        samples.withUnsafeMutableBufferPointer {
            noise?.source.fill(UnsafeMutableBufferPointer(rebasing: $0[..<count]), rate: rate)
        }
        add(count, timestamp: timestamp, at: at, into: &mixer)
        noise?.timestamp = timestamp &+ UInt32(clock / 50)
        noise?.at = at + Self.piece
    }

    private func add(_ count: Int, timestamp: UInt32, at instant: Instant, into mixer: inout RecordingMixer) {
        mixer.isPaused = isPaused
        samples.withUnsafeBufferPointer {
            mixer.add(side, timestamp: timestamp, samples: UnsafeBufferPointer(rebasing: $0[..<count]), at: instant)
        }
    }
}
