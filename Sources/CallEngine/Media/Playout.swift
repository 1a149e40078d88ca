// The far side's audio as it sounds: in order, decoded, gaps concealed, in frames of any length. It exists only while somebody listens
// (detectors, a bridge that transcodes); the recorder has its own way, since it may wait longer.

import Audio
import Basics
import RTP

/// One stream on its way from packets to samples. Belongs to its session.
final class Playout {
    /// Of the samples, in Hz.
    let rate: Int
    private var jitter: JitterBuffer
    private var decoder: FrameDecoder
    private var noise: ComfortNoise?
    /// Decoded and not taken yet.
    private var waiting: [Int16] = []
    private var isWaitingHeard = false
    private let scratch: UnsafeMutableBufferPointer<Int16>
    private var narrowing: Resampler?
    private var gaps = 0

    init(_ codec: Audio.AudioCodec, rate: Int, scratch: UnsafeMutableBufferPointer<Int16>) {
        self.rate = rate
        self.scratch = scratch
        jitter = JitterBuffer(clockRate: codec.clockRate)
        decoder = FrameDecoder(codec, rate: rate, conceals: true)
    }

    /// Frames in a row.
    private static let mostMissing = 10

    /// Another stream comes from now on.
    func restart() { jitter.reset() }

    /// A packet of audio or of comfort noise.
    func put(_ packet: RTPPacket, _ codec: Audio.AudioCodec) {
        if packet.payloadType == ComfortNoise.payloadType {
            if noise == nil { noise = ComfortNoise(packet.payload) } else { noise?.change(to: packet.payload) }
            return
        }
        noise = nil
        if codec.clockRate != jitter.clockRate { jitter = JitterBuffer(clockRate: codec.clockRate) }
        jitter.put(
            packet.payload, payloadType: packet.payloadType, sequence: packet.sequence, timestamp: packet.timestamp,
            span: codec.ticks(in: packet.payload))
    }

    /// The next `count` samples; `isMissing` says that nothing of them was received: what is missing for longer counts as silence that was
    /// heard. `body` is not called while nothing has come.
    func next(
        _ count: Int, codecs: (UInt8) -> Audio.AudioCodec,
        _ body: (_ samples: UnsafeBufferPointer<Int16>, _ isMissing: Bool) -> Void
    ) {
        var isHeard = isWaitingHeard && !waiting.isEmpty
        var steps = 0
        while waiting.count < count {
            var isOver = false
            jitter.take { step in
                switch step {
                case .packet(let payload, let payloadType, let missing):
                    if missing > 0 { makeUp(missing) }
                    decode(payload, codecs(payloadType), skipping: max(0, -missing))
                    isHeard = true
                    isWaitingHeard = true
                case .gap(let length, let next):
                    makeUp(length, before: next)
                    isWaitingHeard = false
                case .nothing: isOver = true
                }
            }
            steps += 1
            // A packet that cannot be decoded gives nothing.
            if isOver || steps > 32 { break }
        }
        if waiting.count >= count {
            gaps = isHeard ? 0 : gaps + 1
            waiting.withUnsafeBufferPointer {
                body(UnsafeBufferPointer(rebasing: $0[..<count]), gaps > 0 && gaps <= Self.mostMissing)
            }
            waiting.removeFirst(count)
        }
        jitter.tick(left: waiting.count * jitter.clockRate / rate)
    }

    /// The samples at the rate of the detectors.
    func withListeningRate(_ samples: UnsafeBufferPointer<Int16>, _ body: (UnsafeBufferPointer<Int16>) -> Void) {
        guard rate != MediaServices.listeningRate else { return body(samples) }
        let narrowing = narrowing ?? Resampler(from: rate, to: MediaServices.listeningRate)
        self.narrowing = narrowing
        withUnsafeTemporaryAllocation(of: Int16.self, capacity: narrowing.maximumOutput(for: samples.count)) { output in
            body(UnsafeBufferPointer(rebasing: output[..<narrowing.process(samples, into: output)]))
        }
    }

    private func decode(_ payload: UnsafeRawBufferPointer, _ codec: Audio.AudioCodec, skipping units: Int) {
        if !decoder.codec.isSameEncoding(as: codec) { decoder = FrameDecoder(codec, rate: rate, conceals: true) }
        let count = decoder.decode(payload, into: scratch)
        let first = min(count, units * rate / codec.clockRate)
        waiting.append(contentsOf: scratch[first..<count])
    }

    private func makeUp(_ units: Int, before next: UnsafeRawBufferPointer? = nil) {
        let count = min(units * rate / jitter.clockRate, scratch.count)
        let samples = UnsafeMutableBufferPointer(rebasing: scratch[..<count])
        if noise != nil { noise?.fill(samples, rate: rate) } else { decoder.conceal(into: samples, before: next) }
        waiting.append(contentsOf: samples)
    }
}
