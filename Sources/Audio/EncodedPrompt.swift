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
    /// Its first packet was encoded as what follows its last.
    private let isLooped: Bool
    /// Where each payload begins, and the end of the last one. An empty payload is a packet that is not sent (discontinuous Opus).
    private let boundaries: [UInt32]

    private init(
        codec: AudioCodec, packetTime: Int, length: Duration, bytes: [UInt8], boundaries: [UInt32], isLooped: Bool = false
    ) {
        self.isLooped = isLooped
        self.codec = codec
        self.packetTime = packetTime
        self.length = length
        self.bytes = bytes
        self.boundaries = boundaries
    }

    /// Encodes a clip; it is resampled when its rate is not the codec's.
    /// - Parameters:
    ///   - packetTime: in milliseconds, one that the codec can have.
    ///   - isLooped: it is played over and over: it has as many packets as the clip, and its first follows its last without a seam. Else what
    ///     the encoder holds back of it is pushed out.
    package convenience init(_ clip: AudioClip, codec: AudioCodec, packetTime: Int = 20, isLooped: Bool = false) {
        precondition(codec.packetTime(atMost: packetTime) == packetTime, "a packet time that the codec can have")
        let clip = clip.resampled(to: codec.sampleRate)
        let encoder = FrameEncoder(codec)
        let frame = codec.samples(inMilliseconds: packetTime)
        let count = clip.samples.count
        let packets = count == 0 ? 0 : (count + (isLooped ? 0 : encoder.delay) + frame - 1) / frame
        var (bytes, boundaries): ([UInt8], [UInt32]) = ([], [0])
        bytes.reserveCapacity(packets * codec.usualBytes(inMilliseconds: packetTime))
        boundaries.reserveCapacity(packets + 1)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: codec.maximumBytes(forSamples: frame)) { payload in
            var last = [Int16](repeating: 0, count: frame)
            // Encoders remember: what is played over and over is encoded as it follows itself; G.722's predictors take half a second.
            let settling = codec == .g722 ? 500 : 0
            let rounds = isLooped && packets > 0 ? max(1, settling / (packets * packetTime)) : 0
            for packet in -rounds * packets..<packets {
                let isKept = packet >= 0
                let packet = isKept ? packet : (packet + rounds * packets) % packets
                let range = min(packet * frame, count)..<min((packet + 1) * frame, count)
                let octets: Int
                if range.count == frame {
                    octets = clip.samples.withUnsafeBufferPointer {
                        encoder.encode(UnsafeBufferPointer(rebasing: $0[range]), into: payload)
                    }
                } else {
                    for index in last.indices { last[index] = index < range.count ? clip.samples[range.lowerBound + index] : 0 }
                    octets = last.withUnsafeBufferPointer { encoder.encode($0, into: payload) }
                }
                guard isKept else { continue }
                if !codec.isPause(octets: octets) { bytes.append(contentsOf: payload[..<octets]) }
                boundaries.append(UInt32(bytes.count))
            }
        }
        self.init(
            codec: codec, packetTime: packetTime, length: clip.length, bytes: bytes, boundaries: boundaries, isLooped: isLooped)
    }

    /// Frames that were encoded elsewhere, of so many octets and 10 ms each, as they are.
    convenience init(frames: ArraySlice<UInt8>, of size: Int, codec: AudioCodec, packetTime: Int) {
        let octets = size * packetTime / 10
        let count = (frames.count + octets - 1) / octets
        self.init(
            codec: codec, packetTime: packetTime, length: .milliseconds(frames.count / size * 10), bytes: Array(frames),
            boundaries: (0...count).map { UInt32(min($0 * octets, frames.count)) })
    }

    /// A tone as payloads that can be played over and over without a seam: whole cadences in whole packets.
    package convenience init(looping tone: Tone, level: Double = -13, codec: AudioCodec, packetTime: Int = 20) {
        self.init(
            ToneGenerator.loop(tone, level: level, rate: codec.sampleRate, packetTime: packetTime), codec: codec,
            packetTime: packetTime, isLooped: true)
    }

    /// What is sent over and over while nothing is said. Discontinuous Opus sends a packet each 400 ms, as its encoder does,
    /// and what cannot be encoded sends none.
    package static func silence(_ codec: AudioCodec, packetTime: Int) -> EncodedPrompt {
        guard codec.isCoded else {
            return EncodedPrompt(
                codec: codec, packetTime: packetTime, length: .milliseconds(packetTime), bytes: [0], boundaries: [0, 0])
        }
        var (encoded, pauses) = (codec, 0)
        if case .opus(var parameters) = codec, parameters.isDiscontinuous {
            parameters.isDiscontinuous = false
            encoded = .opus(parameters)
            pauses = 400 / packetTime - 1
        }
        if case .g722 = codec {
            // Payloads of a stream, and not one over and over, which would take the decoder's state elsewhere.
            let samples = G722Silence.samples(codec.samples(inMilliseconds: packetTime) * 25)
            return EncodedPrompt(
                AudioClip(samples: samples, rate: codec.sampleRate), codec: codec, packetTime: packetTime, isLooped: true)
        }
        // Encoders with a memory take a while before silence is all that they say.
        let settled = EncodedPrompt(
            AudioClip.silence(.milliseconds(packetTime * 10), rate: codec.sampleRate), codec: encoded, packetTime: packetTime,
            isLooped: true)
        let payload = Array(settled.bytes[settled.range(ofPacket: 9)])
        return EncodedPrompt(
            codec: codec, packetTime: packetTime, length: .milliseconds(packetTime * (pauses + 1)), bytes: payload,
            boundaries: [0] + [UInt32](repeating: UInt32(payload.count), count: pauses + 1))
    }

    package var packetCount: Int { boundaries.count - 1 }

    /// What was encoded before a packet, up to so many octets; nothing before the first one of what is not looped.
    package func lead(before packet: Int, octets: Int) -> [UInt8] {
        let start = Int(boundaries[packet])
        var lead = Array(bytes[max(0, start - octets)..<start])
        while isLooped, lead.count < octets, !bytes.isEmpty { lead = bytes.suffix(octets - lead.count) + lead }
        return lead
    }

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
