// A prompt that was encoded once, shared by every call that plays it: playing it costs a header and a copy.

/// The payloads of a prompt for one codec and packet time. It never changes, so calls on any loop may read it.
package final class EncodedPrompt: Sendable {
    package let codec: AudioCodec
    /// The packet time in milliseconds.
    package let packetTime: Int
    /// All payloads, one after the other.
    private let bytes: [UInt8]
    /// The audio's own length; the last packet is filled up with silence.
    package let length: Duration
    /// Where each payload begins, and the end of the last one.
    private let boundaries: [UInt32]

    /// Encodes a clip; it is resampled when its rate is not the codec's.
    /// - Parameter packetTime: in milliseconds, 1 to 200.
    package init(_ clip: AudioClip, codec: AudioCodec, packetTime: Int = 20) {
        precondition((1...200).contains(packetTime), "a packet time in milliseconds")
        let clip = clip.resampled(to: codec.sampleRate)
        let frame = codec.samples(inMilliseconds: packetTime)
        let packets = (clip.samples.count + frame - 1) / frame
        var encoder = FrameEncoder(codec)
        var boundaries: [UInt32] = [0]
        boundaries.reserveCapacity(packets + 1)
        let largest = codec.maximumBytes(forSamples: frame)
        bytes = [UInt8](unsafeUninitializedCapacity: packets * largest) { bytes, written in
            clip.samples.withUnsafeBufferPointer { samples in
                var last = [Int16](repeating: 0, count: frame)
                for packet in 0..<packets {
                    let target = UnsafeMutableBufferPointer(rebasing: bytes[written...])
                    let range = packet * frame..<min((packet + 1) * frame, samples.count)
                    if range.count == frame {
                        written += encoder.encode(UnsafeBufferPointer(rebasing: samples[range]), into: target)
                    } else {
                        for index in range { last[index - range.lowerBound] = samples[index] }
                        written += last.withUnsafeBufferPointer { encoder.encode($0, into: target) }
                    }
                    boundaries.append(UInt32(written))
                }
            }
        }
        self.codec = codec
        self.packetTime = packetTime
        self.boundaries = boundaries
        length = clip.length
    }

    /// A tone as payloads that can be played over and over without a seam: whole cadences in whole packets.
    package convenience init(looping tone: Tone, level: Double = -13, codec: AudioCodec, packetTime: Int = 20) {
        self.init(
            ToneGenerator.loop(tone, level: level, rate: codec.sampleRate, packetTime: packetTime), codec: codec,
            packetTime: packetTime)
    }

    package var packetCount: Int { boundaries.count - 1 }

    /// Where in `bytes` the payload of a packet lies.
    package func range(ofPacket index: Int) -> Range<Int> {
        Int(boundaries[index])..<Int(boundaries[index + 1])
    }

    /// Copies the payload of a packet to the front of `output`, which must have room; returns its length.
    package func copyPayload(_ index: Int, to output: UnsafeMutableRawBufferPointer) -> Int {
        let range = range(ofPacket: index)
        precondition(range.count <= output.count)
        bytes.withUnsafeBytes { output.baseAddress!.copyMemory(from: $0.baseAddress! + range.lowerBound, byteCount: range.count) }
        return range.count
    }

    /// What it takes in memory, nearly.
    package var memory: Int { bytes.count + boundaries.count * 4 + 128 }
}
