// G.722 by spandsp, bit-exact with the ITU's: the state of one direction each. At 8 kHz only the lower band is coded, which any other
// end understands and which costs a fraction.

import Basics
import CSpanDSP

/// Encodes one stream at 64 kbit/s.
final class G722StreamEncoder {
    private let state: OpaquePointer

    /// - Parameters:
    ///   - rate: 8000 or 16000 Hz.
    ///   - isSettled: it begins as behind silence, which is what most sound follows; else as behind nothing.
    init(rate: Int, isSettled: Bool = true) {
        let options = rate == 8000 ? Int32(G722_SAMPLE_RATE_8000) : 0
        guard let state = g722_encode_init(nil, 64000, options) else { preconditionFailure("spandsp gave no G.722 encoder") }
        self.state = state
        guard isSettled else { return }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.settlingOctets) { bytes in
            _ = G722Silence.samples(rate * Self.settlingOctets / 8000).withUnsafeBufferPointer { encode($0, into: bytes) }
        }
    }

    deinit { g722_encode_free(state) }

    func encode(_ samples: UnsafeBufferPointer<Int16>, into bytes: UnsafeMutableBufferPointer<UInt8>) -> Int {
        Int(g722_encode(state, bytes.baseAddress, samples.baseAddress, Int32(samples.count)))
    }

    /// Of the silence before a settled stream: 40 ms.
    static let settlingOctets = 320
}

/// Decodes one stream.
final class G722StreamDecoder {
    private let state: OpaquePointer

    init(rate: Int) {
        let options = rate == 8000 ? Int32(G722_SAMPLE_RATE_8000) : 0
        guard let state = g722_decode_init(nil, 64000, options) else { preconditionFailure("spandsp gave no G.722 decoder") }
        self.state = state
    }

    deinit { g722_decode_free(state) }

    /// `samples` has room for one or two a byte, by the rate.
    func decode(_ payload: UnsafeRawBufferPointer, into samples: UnsafeMutableBufferPointer<Int16>) -> Int {
        Int(g722_decode(state, samples.baseAddress, payload.bytes, Int32(payload.count)))
    }
}

/// Silence as G.722 encodes it well: noise of two steps, heard at -74 dBm0, which is what an idle line of G.711 has. Where all samples are zero
/// the signs of what is coded repeat, by which both sides' predictors wander off to where no two streams are alike.
enum G722Silence {
    private static let most: Int16 = 2

    static func samples(_ count: Int) -> [Int16] {
        var random = SeededRandom(seed: 722)
        return (0..<count).map { _ in Int16.random(in: -most...most, using: &random) }
    }
}
