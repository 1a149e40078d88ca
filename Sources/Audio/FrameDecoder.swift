// Decodes one stream of payloads into linear frames, at the rate that is asked for.

/// The state of one direction. G.711 and L16 have none.
package struct FrameDecoder {
    private enum Way {
        case law(G711Law)
        case linear
        case g722(G722StreamDecoder)
        case opus(OpusStreamDecoder)
        /// It cannot be decoded: nothing is heard.
        case none
    }

    package let codec: AudioCodec
    /// Of the samples that come out, in Hz.
    package let rate: Int
    private let way: Way
    /// The rate at which it is decoded, in Hz.
    private let given: Int
    private let resampler: Resampler?
    private let concealer: Concealer?

    /// - Parameters:
    ///   - rate: of the samples that come out; nil: the codec's own. Others than the codec gives are resampled.
    ///   - conceals: `conceal` is used: what is decoded is remembered for it.
    package init(_ codec: AudioCodec, rate: Int? = nil, conceals: Bool = false) {
        self.codec = codec
        let rate = rate ?? codec.sampleRate
        self.rate = rate
        given = codec.codingRate(for: rate)
        switch codec {
        case .pcmu: way = .law(.mu)
        case .pcma: way = .law(.a)
        case .l16: way = .linear
        case .g729: way = .none
        case .g722: way = .g722(G722StreamDecoder(rate: given))
        case .opus: way = .opus(OpusStreamDecoder(rate: given))
        }
        resampler = given == rate ? nil : Resampler(from: given, to: rate)
        if case .opus = codec { concealer = nil } else { concealer = conceals ? Concealer(rate: rate) : nil }
    }

    /// The most samples that `decode` gives for a payload.
    package func maximumSamples(in payload: UnsafeRawBufferPointer) -> Int {
        let count = givenSamples(in: payload)
        return resampler?.maximumOutput(for: count) ?? count
    }

    /// - Parameters:
    ///   - payload: the payload of one packet.
    ///   - samples: what doesn't fit is not decoded.
    /// - Returns: how many samples were written; 0 for a payload that cannot be decoded.
    package func decode(_ payload: UnsafeRawBufferPointer, into samples: UnsafeMutableBufferPointer<Int16>) -> Int {
        let count = decodeAtRate(payload, samples)
        concealer?.heard(UnsafeMutableBufferPointer(rebasing: samples[..<count]))
        return count
    }

    /// Makes up for packets that are lost: fills `samples`, for Opus in steps of 2.5 ms. By the codec's own means where it has them, else
    /// by the last pitch period.
    /// - Parameter next: the packet after the gap when it is there and the gap is as long as a packet: Opus may carry a copy.
    package func conceal(into samples: UnsafeMutableBufferPointer<Int16>, before next: UnsafeRawBufferPointer? = nil) {
        switch way {
        case .opus(let decoder) where resampler == nil:
            let count = next.map { decoder.recover(from: $0, into: samples) } ?? decoder.conceal(into: samples)
            UnsafeMutableBufferPointer(rebasing: samples[count...]).update(repeating: 0)
        default:
            if let concealer { concealer.fill(samples) } else { samples.update(repeating: 0) }
        }
    }

    private func givenSamples(in payload: UnsafeRawBufferPointer) -> Int { codec.ticks(in: payload) * given / codec.clockRate }

    private func decodeAtRate(_ payload: UnsafeRawBufferPointer, _ samples: UnsafeMutableBufferPointer<Int16>) -> Int {
        guard let resampler else { return decodeGiven(payload, samples) }
        let most = givenSamples(in: payload)
        return withUnsafeTemporaryAllocation(of: Int16.self, capacity: most + 1) { own in
            let count = min(decodeGiven(payload, own), samples.count * given / rate)
            return resampler.process(UnsafeBufferPointer(rebasing: own[..<count]), into: samples)
        }
    }

    private func decodeGiven(_ payload: UnsafeRawBufferPointer, _ samples: UnsafeMutableBufferPointer<Int16>) -> Int {
        switch way {
        case .law(let law):
            let bytes = payload.bindMemory(to: UInt8.self)
            return law.decode(UnsafeBufferPointer(rebasing: bytes.prefix(samples.count)), into: samples)
        case .linear:
            let count = min(payload.count / 2, samples.count)
            for index in 0..<count {
                samples[index] = Int16(bitPattern: UInt16(payload[index * 2]) << 8 | UInt16(payload[index * 2 + 1]))
            }
            return count
        case .g722(let decoder):
            let most = samples.count * 8000 / given
            return decoder.decode(UnsafeRawBufferPointer(rebasing: payload.prefix(most)), into: samples)
        case .opus(let decoder): return decoder.decode(payload, into: samples)
        case .none: return 0
        }
    }
}
