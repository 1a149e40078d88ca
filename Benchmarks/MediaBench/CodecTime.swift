// What a codec takes by itself: the yardstick of transcoding.

import Audio
import Basics
import CallEngine

enum CodecTime {
    /// Decodes frames of 20 ms of one codec and encodes them in the other, as between the legs of a bridge, both ways in turn.
    static func measure(_ plan: Plan) throws -> String {
        guard let one = codec(plan.codec), let other = codec(plan.otherCodec) else {
            return "--codec and --other-codec name codecs"
        }
        let rate = min(one.sampleRate, other.sampleRate)
        let there = Way(one, other, rate)
        let back = Way(other, one, rate)
        let count = 5000
        let began = Process.cpu()
        for _ in 0..<count {
            there.step()
            back.step()
        }
        return Figures.line([("frames", Double(count * 2)), ("us_per_frame", (Process.cpu() - began) * 1e6 / Double(count * 2))])
    }

    static func codec(_ name: String) -> Audio.AudioCodec? {
        Audio.AudioCodec.all.first { $0.name.lowercased() == name.lowercased() }
    }

    private final class Way {
        private let payloads: [[UInt8]]
        private let decoder: FrameDecoder
        private let encoder: FrameEncoder
        private var samples: [Int16]
        private var bytes: [UInt8]
        private var index = 0

        /// A second of a tone that wanders, encoded in `from`.
        init(_ from: Audio.AudioCodec, _ to: Audio.AudioCodec, _ rate: Int) {
            decoder = FrameDecoder(from, rate: rate, conceals: true)
            encoder = FrameEncoder(to, rate: rate, isLive: true)
            samples = [Int16](repeating: 0, count: 48000 / 50)
            bytes = [UInt8](repeating: 0, count: 4000)
            let maker = FrameEncoder(from)
            let frame = from.samples(inMilliseconds: 20)
            var random = SeededRandom(seed: 1)
            var level: Int32 = 0
            payloads = (0..<50).map { _ in
                let sound = (0..<frame).map { _ -> Int16 in
                    level += Int32(truncatingIfNeeded: random.next() % 4001) - 2000
                    level = max(-12000, min(12000, level))
                    return Int16(level)
                }
                var bytes = [UInt8](repeating: 0, count: 4000)
                let length = sound.withUnsafeBufferPointer { sound in
                    bytes.withUnsafeMutableBufferPointer { maker.encode(sound, into: $0) }
                }
                return Array(bytes.prefix(length))
            }
        }

        func step() {
            let payload = payloads[index % payloads.count]
            index += 1
            let count = payload.withUnsafeBytes { payload in
                samples.withUnsafeMutableBufferPointer { decoder.decode(payload, into: $0) }
            }
            _ = samples.withUnsafeBufferPointer { samples in
                bytes.withUnsafeMutableBufferPointer {
                    encoder.encode(UnsafeBufferPointer(rebasing: samples[..<count]), into: $0)
                }
            }
        }
    }
}
