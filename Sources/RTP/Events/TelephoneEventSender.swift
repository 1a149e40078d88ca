// Sends telephone-event (RFC 4733 section 2.5.1), a packet a tick: marker on the first, one timestamp, a duration that is the time
// passed, three end packets a tick apart, then a gap. A press beyond the duration field goes on in a new segment.
//
//   tick     0   1   2   …   n-1      n        n+1      …            with gap g, at least 2:
//   packet   M           …   E        E        E        -            idle after tick n-1+g

/// What to send in a tick.
package struct TelephoneEventPacket: Equatable, Sendable {
    package var payload: TelephoneEventPayload
    package var marker: Bool
    package var timestamp: UInt32

    package init(payload: TelephoneEventPayload, marker: Bool, timestamp: UInt32) {
        self.payload = payload
        self.marker = marker
        self.timestamp = timestamp
    }
}

/// The keys of one stream, one after the other. An object: few sessions send keys, and those that do not are smaller without it.
package final class TelephoneEventSender {
    private enum State {
        case idle
        case pressing
        /// End packets still to repeat, ticks of the gap still to pass.
        case gap(repeats: Int, ticks: Int)
    }

    /// Units of the event's clock a tick.
    package let unitsPerTick: UInt32
    private var state = State.idle
    private var payload = TelephoneEventPayload(code: 0, isEnd: false, duration: 0)
    private var remaining: UInt32 = 0
    private var gapTicks = 0
    private var timestamp: UInt32 = 0
    private var elapsed: UInt32 = 0
    private var isFirst = false

    /// `unitsPerTick`: clock rate times packet time, 1 to 4,096.
    package init(unitsPerTick: UInt32) {
        precondition(1...4096 ~= unitsPerTick)
        self.unitsPerTick = unitsPerTick
    }

    /// Whether the next event may be started; true after the gap.
    package var isIdle: Bool {
        if case .idle = state { true } else { false }
    }

    /// Whether the key is down: no audio is sent meanwhile.
    package var isPressing: Bool {
        if case .pressing = state { true } else { false }
    }

    /// Starts an event with the next tick. `duration` and `gap` in units of the event's clock, rounded up to ticks; the gap is at least
    /// two ticks, in which the end packets are repeated. Only while idle.
    package func start(code: UInt8, duration: UInt32, gap: UInt32, volume: UInt8 = 10) {
        precondition(isIdle, "one event at a time")
        payload = TelephoneEventPayload(code: code, isEnd: false, volume: volume, duration: 0)
        remaining = max(duration, unitsPerTick)
        gapTicks = max(Int((gap + unitsPerTick - 1) / unitsPerTick), 2)
        elapsed = 0
        isFirst = true
        state = .pressing
    }

    /// Lets go of the key at the next tick: a press as long as its caller wants, of `least` units of the event's clock at least.
    package func release(after least: UInt32 = 0) {
        if isPressing { remaining = max(elapsed + unitsPerTick, least) }
    }

    /// The packet of this tick; nil in a gap and while idle. Call it once a tick. `now` is the stream's timestamp in the event's clock.
    package func next(timestamp now: UInt32) -> TelephoneEventPacket? {
        switch state {
        case .idle: return nil
        case .pressing:
            if isFirst { timestamp = now }
            defer { isFirst = false }
            if elapsed + unitsPerTick > 0xFFFF {
                // A new segment, without a marker; the receiver knows that the press goes on.
                timestamp &+= elapsed
                remaining -= elapsed
                elapsed = 0
            }
            elapsed += unitsPerTick
            payload.duration = UInt16(elapsed)
            if elapsed >= remaining {
                payload.isEnd = true
                state = .gap(repeats: 2, ticks: gapTicks)
            }
            return TelephoneEventPacket(payload: payload, marker: isFirst, timestamp: timestamp)
        case .gap(let repeats, let ticks):
            state = ticks > 1 ? .gap(repeats: max(repeats - 1, 0), ticks: ticks - 1) : .idle
            return repeats > 0 ? TelephoneEventPacket(payload: payload, marker: false, timestamp: timestamp) : nil
        }
    }
}
