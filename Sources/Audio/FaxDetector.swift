// The tones of fax machines (ITU-T T.30), by spandsp: CNG of the one that calls, 1100 Hz for half a second every three and a half; CED of
// the one that answers, 2100 Hz for three seconds, or the preamble in V.21 that follows it.

import CSpanDSP

/// Which fax machine it is.
package enum FaxTone: String, Equatable, Sendable {
    /// It calls: CNG.
    case calling
    /// It answers: CED, or its preamble.
    case answering
}

/// Detects fax tones at 8 kHz.
package final class FaxDetector {
    private let states: [(tone: FaxTone, state: OpaquePointer)]

    package init() {
        let kinds = [
            (FaxTone.calling, MODEM_CONNECT_TONES_FAX_CNG), (.answering, MODEM_CONNECT_TONES_FAX_CED_OR_PREAMBLE)
        ]
        states = kinds.map { tone, kind in
            guard let state = modem_connect_tones_rx_init(nil, Int32(kind), nil, nil) else {
                preconditionFailure("spandsp gave no receiver of fax tones")
            }
            return (tone, state)
        }
    }

    deinit {
        for (_, state) in states { modem_connect_tones_rx_free(state) }
    }

    /// Takes samples in pieces of any size; reports a tone each time it begins.
    package func process(_ samples: UnsafeBufferPointer<Int16>, _ report: (FaxTone) -> Void) {
        guard let base = samples.baseAddress else { return }
        for (tone, state) in states {
            modem_connect_tones_rx(state, base, Int32(clamping: samples.count))
            if modem_connect_tones_rx_get(state) != 0 { report(tone) }
        }
    }

    /// Time passes without samples.
    package func processMissing(_ count: Int, _ report: (FaxTone) -> Void) {
        withUnsafeTemporaryAllocation(of: Int16.self, capacity: min(count, 160)) { silence in
            silence.initialize(repeating: 0)
            var left = count
            while left > 0 {
                process(UnsafeBufferPointer(rebasing: silence[..<min(left, silence.count)]), report)
                left -= silence.count
            }
        }
    }
}
