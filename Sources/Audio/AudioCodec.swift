// What a codec is to the rest of the engine: a description that is a value, and the state of one direction that
// encodes or decodes frames. A further codec is a further case here and in the two coders.

/// An audio codec that can be encoded and decoded.
package struct AudioCodec: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case g711(G711Law)
    }

    let kind: Kind
    /// The encoding's name in SDP (RFC 4856): compared without regard to case.
    package let name: String
    /// The RTP clock, in Hz.
    package let clockRate: Int
    /// The rate of the linear samples that go in and come out, in Hz.
    package let sampleRate: Int

    package static let pcmu = AudioCodec(kind: .g711(.mu), name: "PCMU", clockRate: 8000, sampleRate: 8000)
    package static let pcma = AudioCodec(kind: .g711(.a), name: "PCMA", clockRate: 8000, sampleRate: 8000)
    /// Every codec that is built.
    package static let all = [pcmu, pcma]

    /// Name and clock as in an rtpmap.
    package var description: String {
        switch kind {
        case .g711(.mu): "PCMU/8000"
        case .g711(.a): "PCMA/8000"
        }
    }

    /// The codec of that SDP name and clock; nil when there is none here.
    package init?(name: String, clockRate: Int) {
        let upper = name.uppercased()
        guard let known = Self.all.first(where: { $0.name == upper && $0.clockRate == clockRate }) else { return nil }
        self = known
    }

    private init(kind: Kind, name: String, clockRate: Int, sampleRate: Int) {
        self.kind = kind
        self.name = name
        self.clockRate = clockRate
        self.sampleRate = sampleRate
    }

    /// How many linear samples a packet of `milliseconds` holds.
    package func samples(inMilliseconds milliseconds: Int) -> Int { sampleRate * milliseconds / 1000 }

    /// By how much the RTP timestamp grows with a packet of `milliseconds`.
    package func ticks(inMilliseconds milliseconds: Int) -> UInt32 { UInt32(clockRate * milliseconds / 1000) }

    /// The most bytes that a frame of `samples` linear samples takes.
    package func maximumBytes(forSamples samples: Int) -> Int {
        switch kind {
        case .g711: samples
        }
    }

    /// The linear samples that come from a payload of `bytes`.
    package func samples(inPayloadOf bytes: Int) -> Int {
        switch kind {
        case .g711: bytes
        }
    }

    package static func == (left: AudioCodec, right: AudioCodec) -> Bool { left.kind == right.kind }
    package func hash(into hasher: inout Hasher) { hasher.combine(kind) }
}

/// Encodes one stream of linear frames. G.711 keeps no state between frames.
package struct FrameEncoder {
    package let codec: AudioCodec

    package init(_ codec: AudioCodec) {
        self.codec = codec
    }

    /// - Parameters:
    ///   - samples: one frame at the codec's sample rate.
    ///   - bytes: at least `codec.maximumBytes(forSamples:)` long.
    /// - Returns: the length of the payload.
    package mutating func encode(
        _ samples: UnsafeBufferPointer<Int16>, into bytes: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        switch codec.kind {
        case .g711(let law): law.encode(samples, into: bytes)
        }
    }
}

/// Decodes one stream of payloads into linear frames.
package struct FrameDecoder {
    package let codec: AudioCodec

    package init(_ codec: AudioCodec) {
        self.codec = codec
    }

    /// - Parameters:
    ///   - payload: the payload of one packet.
    ///   - samples: at least `codec.samples(inPayloadOf:)` long; what doesn't fit is not decoded.
    /// - Returns: how many samples were written.
    package mutating func decode(
        _ payload: UnsafeBufferPointer<UInt8>, into samples: UnsafeMutableBufferPointer<Int16>
    ) -> Int {
        switch codec.kind {
        case .g711(let law):
            law.decode(UnsafeBufferPointer(rebasing: payload.prefix(samples.count)), into: samples)
        }
    }
}
