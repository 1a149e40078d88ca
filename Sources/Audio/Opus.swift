// Opus by libopus: the state of one direction each. The rates are libopus's own: 8, 12, 16, 24 or 48 kHz, whatever the other side uses.

import COpus

/// Encodes one stream.
final class OpusStreamEncoder {
    private let state: OpaquePointer

    /// - Parameter isLive: spends less on a frame than what is encoded once and played often.
    init(_ parameters: OpusParameters, rate: Int, isLive: Bool) {
        var error: Int32 = 0
        guard let state = opus_encoder_create(Int32(rate), 1, OPUS_APPLICATION_VOIP, &error) else {
            preconditionFailure("libopus gave no encoder: error \(error)")
        }
        self.state = state
        let bandwidth =
            switch parameters.playbackRate {
            case 8000: OPUS_BANDWIDTH_NARROWBAND
            case 12000: OPUS_BANDWIDTH_MEDIUMBAND
            case 16000: OPUS_BANDWIDTH_WIDEBAND
            case 24000: OPUS_BANDWIDTH_SUPERWIDEBAND
            default: OPUS_BANDWIDTH_FULLBAND
            }
        set(OPUS_SET_MAX_BANDWIDTH_REQUEST, bandwidth)
        set(OPUS_SET_BITRATE_REQUEST, Int32(parameters.bitRate))
        set(OPUS_SET_VBR_REQUEST, parameters.isConstantRate ? 0 : 1)
        set(OPUS_SET_DTX_REQUEST, parameters.isDiscontinuous ? 1 : 0)
        set(OPUS_SET_COMPLEXITY_REQUEST, isLive ? 5 : 10)
        if parameters.hasErrorCorrection {
            set(OPUS_SET_INBAND_FEC_REQUEST, 1)
            // Without an expected loss libopus adds no copies.
            set(OPUS_SET_PACKET_LOSS_PERC_REQUEST, 10)
        }
    }

    deinit { opus_encoder_destroy(state) }

    private func set(_ request: Int32, _ value: Int32) {
        let result = rw_opus_set(state, request, value)
        precondition(result == OPUS_OK, "libopus refused a setting: \(request) = \(value)")
    }

    /// Samples that it looks ahead.
    var delay: Int {
        var samples: Int32 = 0
        rw_opus_lookahead(state, &samples)
        return Int(samples)
    }

    /// - Parameter samples: 2.5, 5, 10, 20, 40 or 60 ms.
    func encode(_ samples: UnsafeBufferPointer<Int16>, into bytes: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard let input = samples.baseAddress, let output = bytes.baseAddress else { return 0 }
        return max(0, Int(opus_encode(state, input, Int32(samples.count), output, Int32(clamping: bytes.count))))
    }
}

/// Decodes one stream; two channels are mixed down.
final class OpusStreamDecoder {
    private let state: OpaquePointer

    init(rate: Int) {
        var error: Int32 = 0
        guard let state = opus_decoder_create(Int32(rate), 1, &error) else {
            preconditionFailure("libopus gave no decoder: error \(error)")
        }
        self.state = state
    }

    deinit { opus_decoder_destroy(state) }

    func decode(_ payload: UnsafeRawBufferPointer, into samples: UnsafeMutableBufferPointer<Int16>) -> Int {
        guard !payload.isEmpty else { return 0 }
        return run(payload, samples, errorCorrection: false)
    }

    /// Makes up for what is missing; its length is that of `samples`, in steps of 2.5 ms.
    func conceal(into samples: UnsafeMutableBufferPointer<Int16>) -> Int { run(nil, samples, errorCorrection: false) }

    /// Takes the copy of the missing frame from the packet after it; libopus conceals when there is none.
    func recover(from next: UnsafeRawBufferPointer, into samples: UnsafeMutableBufferPointer<Int16>) -> Int {
        run(next, samples, errorCorrection: true)
    }

    private func run(
        _ payload: UnsafeRawBufferPointer?, _ samples: UnsafeMutableBufferPointer<Int16>, errorCorrection: Bool
    ) -> Int {
        guard let output = samples.baseAddress else { return 0 }
        let count = opus_decode(
            state, payload?.bytes, Int32(clamping: payload?.count ?? 0), output, Int32(clamping: samples.count),
            errorCorrection ? 1 : 0)
        return max(0, Int(count))
    }
}
