// The in-band DTMF receiver: spandsp's, which meets ITU-T Q.24, behind a filter that takes a constant offset away (the
// receiver bears none). It works at 8 kHz; audio at another rate is resampled before. In front of every digit lie
// two of its blocks of 12.75 ms, so a digit counts as begun about 26 to 38 ms after its tone.

import CSpanDSP

/// Finds DTMF digits in a stream of samples at 8 kHz.
package final class DTMFReceiver {
    /// A digit began or ended. Keys are ASCII: `0` to `9`, `*`, `#`, `A` to `D`.
    package enum Event: Equatable, Sendable {
        case began(UInt8)
        case ended(UInt8)
    }

    private let state: OpaquePointer
    private let sink: Sink
    private var offset: Int32 = 0

    /// Where spandsp's callback, which has no way to the caller's closure, puts what it found.
    private final class Sink {
        var present: UInt8 = 0
        var events: [Event] = []
    }

    /// - Parameter dialToneFilter: set when a dial tone (350 and 440 Hz) may sound under the digits.
    package init(dialToneFilter: Bool = false) {
        sink = Sink()
        guard let state = dtmf_rx_init(nil, nil, nil) else { preconditionFailure("spandsp gave no DTMF receiver") }
        self.state = state
        dtmf_rx_parms(state, dialToneFilter ? 1 : 0, -1, -1, -99)
        dtmf_rx_set_realtime_callback(
            state,
            { user, code, _, _ in
                guard let user else { return }
                let sink = Unmanaged<Sink>.fromOpaque(user).takeUnretainedValue()
                let key = UInt8(truncatingIfNeeded: code)
                if sink.present != 0, sink.present != key { sink.events.append(.ended(sink.present)) }
                if key != 0, sink.present != key { sink.events.append(.began(key)) }
                sink.present = key
            }, Unmanaged.passUnretained(sink).toOpaque())
    }

    deinit {
        dtmf_rx_free(state)
    }

    /// The key whose tone sounds now, or nil.
    package var present: UInt8? { sink.present == 0 ? nil : sink.present }

    /// Takes samples in pieces of any size and reports what began and ended in them, in order.
    package func process(_ samples: UnsafeBufferPointer<Int16>, _ report: (Event) -> Void) {
        withUnsafeTemporaryAllocation(of: Int16.self, capacity: 256) { block in
            var position = 0
            while position < samples.count {
                let count = min(block.count, samples.count - position)
                for index in 0..<count {
                    // One pole at about 5 Hz, in 1/256 steps.
                    let sample = Int32(samples[position + index]) << 8
                    offset += (sample - offset) >> 8
                    block[index] = Int16(clamping: (sample - offset) >> 8)
                }
                dtmf_rx(state, block.baseAddress, Int32(count))
                position += count
            }
        }
        deliver(report)
    }

    /// Says that samples are missing: lost packets. A digit that sounded goes on over them.
    package func processMissing(_ count: Int) {
        dtmf_rx_fillin(state, Int32(clamping: count))
    }

    private func deliver(_ report: (Event) -> Void) {
        // spandsp keeps what it found for `dtmf_rx_get` as well; it is not needed and must not fill up.
        guard !sink.events.isEmpty else { return }
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 129) { digits in
            _ = dtmf_rx_get(state, digits.baseAddress, 128)
        }
        for event in sink.events { report(event) }
        sink.events.removeAll(keepingCapacity: true)
    }
}
