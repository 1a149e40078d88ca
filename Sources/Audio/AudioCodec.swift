// What a codec is to the rest of the engine: a value. What encodes and decodes one stream with it is a `FrameEncoder` or a
// `FrameDecoder`; a further codec is a further case here and in those two.

import COpus

/// An audio codec; one channel.
package enum AudioCodec: Hashable, Sendable {
    case pcmu
    case pcma
    /// ITU-T G.722 at 64 kbit/s.
    case g722
    /// Linear samples of 16 bits in network order (RFC 3551 section 4.5.11) at 8000 or 16,000 Hz.
    case l16(rate: Int)
    /// RFC 6716 and 7587. The parameters are of the encoder; decoding takes whatever comes.
    case opus(OpusParameters)
    /// ITU-T G.729, with or without its annexes A and B. It is passed on as it is, and neither encoded nor decoded.
    case g729

    /// Every codec that can be encoded and decoded; Opus with parameters that nobody asked to change.
    package static let all = [pcmu, pcma, g722, l16(rate: 16000), l16(rate: 8000), opus(OpusParameters())]
    /// Those, and the ones that are passed on only.
    package static let known = all + [g729]

    /// Whether it can be encoded and decoded.
    package var isCoded: Bool { if case .g729 = self { false } else { true } }

    /// The codec of that SDP name (RFC 4856; without regard to case) and clock; nil when there is none here.
    package init?(name: String, clockRate: Int) {
        func find(_ isNamed: (AudioCodec) -> Bool) -> AudioCodec? {
            Self.known.first { $0.clockRate == clockRate && isNamed($0) }
        }
        // Nearly all write it as it is registered.
        if let known = find({ $0.name == name }) {
            self = known
        } else {
            let upper = name.uppercased()
            guard let known = find({ $0.name.uppercased() == upper }) else { return nil }
            self = known
        }
    }

    /// The encoding's name in SDP.
    package var name: String {
        switch self {
        case .pcmu: "PCMU"
        case .pcma: "PCMA"
        case .g722: "G722"
        case .l16: "L16"
        case .opus: "opus"
        case .g729: "G729"
        }
    }

    /// As in an rtpmap: `PCMU/8000`, `opus/48000/2`.
    package var description: String {
        switch self {
        case .pcmu: "PCMU/8000"
        case .pcma: "PCMA/8000"
        case .g722: "G722/8000"
        case .l16(let rate): rate == 8000 ? "L16/8000" : "L16/16000"
        case .opus: "opus/48000/2"
        case .g729: "G729/8000"
        }
    }

    /// The RTP clock, in Hz. G.722's is 8000 although it has 16,000 samples a second (RFC 3551 section 4.5.2).
    package var clockRate: Int {
        switch self {
        case .pcmu, .pcma, .g722, .g729: 8000
        case .l16(let rate): rate
        case .opus: 48000
        }
    }

    /// The rate of the linear samples that go in and come out when nobody asks for another one, in Hz.
    package var sampleRate: Int {
        switch self {
        case .pcmu, .pcma, .g729: 8000
        case .g722: 16000
        case .l16(let rate): rate
        case .opus: 48000
        }
    }

    /// The rate at which it is coded when the samples have `rate`: the same where it can be, else its own; both in Hz.
    func codingRate(for rate: Int) -> Int {
        switch self {
        // At 8 kHz only the lower band is coded.
        case .g722 where rate == 8000 || rate == 16000: rate
        case .opus where [8000, 12000, 16000, 24000, 48000].contains(rate): rate
        default: sampleRate
        }
    }

    /// The law of G.711; nil for the others.
    package var law: G711Law? {
        switch self {
        case .pcmu: .mu
        case .pcma: .a
        default: nil
        }
    }

    /// Whether a payload of one may be sent as one of the other.
    package func isSameEncoding(as other: AudioCodec) -> Bool {
        if case .opus = self, case .opus = other { return true }
        return self == other
    }

    /// The packet time nearest below `wished` that it can have, in milliseconds of 10 to 60: an Opus frame has 10, 20, 40 or 60, and
    /// packets of L16 at 16 kHz stay below the usual MTU.
    package func packetTime(atMost wished: Int) -> Int {
        let time = max(10, min(60, wished / 10 * 10))
        return switch self {
        case .pcmu, .pcma, .g722, .l16(rate: 8000), .g729: time
        case .l16: min(time, 40)
        case .opus: time == 30 ? 20 : time == 50 ? 40 : time
        }
    }

    /// How many linear samples a packet of `milliseconds` holds.
    package func samples(inMilliseconds milliseconds: Int) -> Int { sampleRate * milliseconds / 1000 }

    /// By how much the RTP timestamp grows with a packet of `milliseconds`.
    package func ticks(inMilliseconds milliseconds: Int) -> UInt32 { UInt32(clockRate * milliseconds / 1000) }

    /// By how much the RTP timestamp grows with a packet of this payload; 0 for one that cannot be decoded.
    package func ticks(in payload: UnsafeRawBufferPointer) -> Int {
        switch self {
        case .pcmu, .pcma, .g722: payload.count
        case .l16: payload.count / 2
        // What is left over is the frame of a pause (annex B).
        case .g729: (payload.count + G729File.frame - 1) / G729File.frame * 80
        case .opus: payload.bytes.map { max(0, Int(opus_packet_get_nb_samples($0, Int32(clamping: payload.count), 48000))) } ?? 0
        }
    }

    /// The most bytes that a frame of `samples` linear samples takes.
    package func maximumBytes(forSamples samples: Int) -> Int {
        switch self {
        case .pcmu, .pcma: samples
        case .g722: (samples + 1) / 2
        case .l16: samples * 2
        case .g729: (samples + 79) / 80 * G729File.frame
        // RFC 6716 section 3.4: a frame of 1275 bytes and its head; ours of up to 60 ms are one packet.
        case .opus: 1276 * 3
        }
    }

    /// What a packet of `milliseconds` takes, as a rule.
    package func usualBytes(inMilliseconds milliseconds: Int) -> Int {
        guard case .opus(let parameters) = self else { return maximumBytes(forSamples: samples(inMilliseconds: milliseconds)) }
        return parameters.bitRate * milliseconds / 8000 + 8
    }

    /// Whether an encoder that gave so many octets means that nothing is to be sent.
    package func isPause(octets: Int) -> Bool {
        guard case .opus(let parameters) = self else { return false }
        return parameters.isDiscontinuous && octets <= 2
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes for C; nil when there are none.
    var bytes: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
