// telephone-event (RFC 4733 section 2.3): its payload, and what a receiver makes of it.
//
//    |     event     |E|R| volume    |          duration             |

/// The payload.
package struct TelephoneEventPayload: Equatable, Sendable {
    package static let size = 4

    /// 0 to 9, 10 `*`, 11 `#`, 12 to 15 `A` to `D`, 16 flash.
    package var code: UInt8
    package var isEnd: Bool
    /// -dBm0, 0 to 63.
    package var volume: UInt8
    /// Units of the RTP clock.
    package var duration: UInt16

    package init(code: UInt8, isEnd: Bool, volume: UInt8 = 10, duration: UInt16) {
        self.code = code
        self.isEnd = isEnd
        self.volume = volume
        self.duration = duration
    }

    /// nil for less than four octets. Further octets (another event, RFC 2198) are not read.
    @inline(__always)
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.size else { return nil }
        code = bytes[0]
        isEnd = bytes[1] & 0x80 != 0
        volume = bytes[1] & 0x3F
        duration = bytes.read16(at: 2)
    }

    /// Writes `size` octets to the front of `output`.
    @inline(__always)
    package func write(to output: UnsafeMutableRawBufferPointer) {
        precondition(output.count >= Self.size)
        output[0] = code
        output[1] = (isEnd ? 0x80 : 0) | (volume & 0x3F)
        output.write16(duration, at: 2)
    }
}

/// One half of a press.
package struct TelephoneEvent: Equatable, Sendable {
    package enum Phase: Equatable, Sendable {
        case began
        case ended
    }

    /// 0 to 16, as in the payload.
    package var code: UInt8
    package var phase: Phase
    /// With `ended`: how long it was pressed, as far as packets told, in units of the event's clock.
    package var duration: UInt32

    package init(code: UInt8, phase: Phase, duration: UInt32 = 0) {
        self.code = code
        self.phase = phase
        self.duration = duration
    }
}

/// The up to three events that one packet can cause: the end of a press whose end was lost, and a whole other one.
package struct TelephoneEvents: Equatable, Sendable, RandomAccessCollection {
    private var first = TelephoneEvent(code: 0, phase: .began)
    private var second = TelephoneEvent(code: 0, phase: .began)
    private var third = TelephoneEvent(code: 0, phase: .began)
    package private(set) var endIndex = 0
    package var startIndex: Int { 0 }

    package subscript(position: Int) -> TelephoneEvent {
        precondition(position >= 0 && position < endIndex)
        return position == 0 ? first : position == 1 ? second : third
    }

    mutating func append(_ event: TelephoneEvent) {
        switch endIndex {
        case 0: first = event
        case 1: second = event
        default: third = event
        }
        endIndex += 1
    }
}
