// The in-band DTMF receiver: spandsp's, behind a filter that takes a constant offset away (the receiver bears none), and before a gate
// that looks closer at what it found: together they meet ITU-T Q.24. It works at 8 kHz; audio at another rate is resampled before. It
// judges blocks of 12.75 ms and wants two in a row: so a digit counts as begun 30 to 43 ms after its tone began. An end is held back for
// two more blocks: a tone that goes on by then was only interrupted (Q.24: up to 10 ms), where a pause of 40 ms makes two digits.

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
    /// Samples of the receiver's present block.
    private var filled = 0
    private static let blockSize = 102

    private var gate = DTMFGate()

    /// Where spandsp's callback, which has no way to the caller's closure, puts what it found.
    private final class Sink {
        /// What sounds by the receiver's word, 0 for nothing.
        var present: UInt8 = 0
        /// The key that the gate has not judged yet, 0 for none.
        var candidate: UInt8 = 0
        /// The gate has let `present` pass.
        var isAccepted = false
        /// The key whose end is held back, 0 for none, and the blocks since then.
        var ending: UInt8 = 0
        var blocks = 0
        var events: [Event] = []

        func found(_ key: UInt8) {
            guard key != present else { return }
            if isAccepted {
                ending = present
                blocks = 0
            }
            present = key
            isAccepted = key != 0 && key == ending
            if isAccepted { ending = 0 } else if key != 0 { candidate = key }
        }

        func blockPassed(_ gate: DTMFGate) {
            if candidate != 0 { judge(gate) }
            guard ending != 0, present == 0 else { return }
            blocks += 1
            if blocks > 2 { finishEnding() }
        }

        private func judge(_ gate: DTMFGate) {
            let key = candidate
            switch gate.verdict(key, sounds: present == key) {
            case .early: return
            case .refused: candidate = 0
            case .accepted:
                candidate = 0
                finishEnding()
                events.append(.began(key))
                if present == key {
                    isAccepted = true
                } else {
                    ending = key
                    blocks = 0
                }
            }
        }

        func finishEnding() {
            if ending != 0 { events.append(.ended(ending)) }
            ending = 0
        }
    }

    package init() {
        sink = Sink()
        guard let state = dtmf_rx_init(nil, nil, nil) else { preconditionFailure("spandsp gave no DTMF receiver") }
        self.state = state
        // A little over the 8 and 4 dB of twist of Q.24: what a block sees of them is not exact.
        dtmf_rx_parms(state, 0, 9, 5, -99)
        dtmf_rx_set_realtime_callback(
            state,
            { user, code, _, _ in
                guard let user else { return }
                Unmanaged<Sink>.fromOpaque(user).takeUnretainedValue().found(UInt8(truncatingIfNeeded: code))
            }, Unmanaged.passUnretained(sink).toOpaque())
    }

    deinit {
        dtmf_rx_free(state)
    }

    /// The key whose tone sounds now, or nil.
    package var present: UInt8? {
        sink.isAccepted ? sink.present : sink.ending != 0 ? sink.ending : nil
    }

    /// Takes samples in pieces of any size and reports what began and ended in them, in order.
    package func process(_ samples: UnsafeBufferPointer<Int16>, _ report: (Event) -> Void) {
        withUnsafeTemporaryAllocation(of: Int16.self, capacity: Self.blockSize) { block in
            var position = 0
            while position < samples.count {
                let count = min(Self.blockSize - filled, samples.count - position)
                for index in 0..<count {
                    // One pole at about 5 Hz, in 1/256 steps.
                    let sample = Int32(samples[position + index]) << 8
                    offset += (sample - offset) >> 8
                    block[index] = Int16(clamping: (sample - offset) >> 8)
                }
                gate.take(UnsafeBufferPointer(rebasing: block[..<count]))
                dtmf_rx(state, block.baseAddress, Int32(count))
                position += count
                filled += count
                if filled == Self.blockSize {
                    filled = 0
                    sink.blockPassed(gate)
                }
            }
        }
        deliver(report)
    }

    /// Says that samples are missing: lost packets. A digit that sounded goes on over them.
    package func processMissing(_ count: Int) {
        dtmf_rx_fillin(state, Int32(clamping: count))
        // It begins a new block then.
        filled = 0
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
