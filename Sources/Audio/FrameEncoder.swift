// Encodes one stream of linear frames.

/// The state of one direction. G.711 and L16 have none.
package struct FrameEncoder {
    private enum Way {
        case law(G711Law)
        case linear
        case g722(G722StreamEncoder)
        case opus(OpusStreamEncoder)
        /// It cannot be encoded: every frame is a pause.
        case none
    }

    package let codec: AudioCodec
    /// Of the samples that go in, in Hz.
    package let rate: Int
    private let way: Way
    private let resampler: Resampler?
    /// How many of the samples that went in are not in a payload yet.
    package let delay: Int

    /// - Parameters:
    ///   - rate: of the samples that go in; nil: the codec's own. Others than the codec takes are resampled.
    ///   - isLive: it encodes for one call, as opposed to what is encoded once and played often.
    package init(_ codec: AudioCodec, rate: Int? = nil, isLive: Bool = false) {
        self.codec = codec
        let rate = rate ?? codec.sampleRate
        self.rate = rate
        let taken = codec.codingRate(for: rate)
        switch codec {
        case .pcmu: (way, delay) = (.law(.mu), 0)
        case .pcma: (way, delay) = (.law(.a), 0)
        case .l16: (way, delay) = (.linear, 0)
        case .g729: (way, delay) = (.none, 0)
        case .g722: (way, delay) = (.g722(G722StreamEncoder(rate: taken)), 0)
        case .opus(let parameters):
            let encoder = OpusStreamEncoder(parameters, rate: taken, isLive: isLive)
            delay = encoder.delay * rate / taken
            way = .opus(encoder)
        }
        resampler = taken == rate ? nil : Resampler(from: rate, to: taken)
    }

    /// - Parameters:
    ///   - samples: one frame; Opus takes 10, 20, 40 or 60 ms.
    ///   - bytes: at least `codec.maximumBytes(forSamples:)` long, for as many samples at the codec's rate.
    /// - Returns: the length of the payload. At most two bytes of discontinuous Opus: it need not be sent.
    package func encode(_ samples: UnsafeBufferPointer<Int16>, into bytes: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard let resampler else { return encodeTaken(samples, bytes) }
        return withUnsafeTemporaryAllocation(of: Int16.self, capacity: resampler.maximumOutput(for: samples.count)) { output in
            let count = resampler.process(samples, into: output)
            return encodeTaken(UnsafeBufferPointer(rebasing: output[..<count]), bytes)
        }
    }

    private func encodeTaken(_ samples: UnsafeBufferPointer<Int16>, _ bytes: UnsafeMutableBufferPointer<UInt8>) -> Int {
        switch way {
        case .law(let law): return law.encode(samples, into: bytes)
        case .linear:
            precondition(bytes.count >= samples.count * 2, "two bytes for each sample")
            for index in samples.indices {
                bytes[index * 2] = UInt8(truncatingIfNeeded: samples[index] >> 8)
                bytes[index * 2 + 1] = UInt8(truncatingIfNeeded: samples[index])
            }
            return samples.count * 2
        case .g722(let encoder): return encoder.encode(samples, into: bytes)
        case .opus(let encoder): return encoder.encode(samples, into: bytes)
        case .none: return 0
        }
    }
}
