// G.722 by spandsp, bit-exact with the ITU's: the state of one direction each. At 8 kHz only the lower band is coded, which any other
// end understands and which costs a fraction.

import CSpanDSP

/// Encodes one stream at 64 kbit/s.
final class G722StreamEncoder {
    private let state: OpaquePointer

    init(rate: Int) {
        let options = rate == 8000 ? Int32(G722_SAMPLE_RATE_8000) : 0
        guard let state = g722_encode_init(nil, 64000, options) else { preconditionFailure("spandsp gave no G.722 encoder") }
        self.state = state
    }

    deinit { g722_encode_free(state) }

    func encode(_ samples: UnsafeBufferPointer<Int16>, into bytes: UnsafeMutableBufferPointer<UInt8>) -> Int {
        Int(g722_encode(state, bytes.baseAddress, samples.baseAddress, Int32(samples.count)))
    }
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
