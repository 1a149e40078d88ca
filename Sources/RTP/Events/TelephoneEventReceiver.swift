// Receives telephone-event (RFC 4733 section 2.5.2): one press for one timestamp, whatever is lost, doubled or out of order.
//
//   packet                                       press open               press ended
//   same timestamp, no E                         goes on                  nothing (late)
//   same timestamp, E                            ended                    nothing (repeat)
//   timestamp of an earlier press                nothing                  nothing
//   older timestamp never seen                   a whole press (all its other packets were lost)
//   newer, but the same press (see below)        as with the same timestamp
//   newer                                        ended, then began        began
//   none for three times what passes between     ended                    -
//   two of its packets
//
// Newer timestamps are the same press when the event is the same and
//   - it is the next segment of a long press: the duration field ran full (section 2.5.1.3);
//   - it lies within the time that the press is known to have lasted: senders that let the timestamp run on the end packets;
//   - it is an end packet that repeats the end within two sequence numbers: the same senders, later.

package import Basics

package struct TelephoneEventReceiver: Sendable {
    private struct Press {
        var code: UInt8
        /// Of the current segment.
        var timestamp: UInt32
        /// Of the current segment, the longest that was told.
        var duration: UInt32
        /// Of the segments before.
        var before: UInt32
        var lastArrival: Instant
        /// The longest step of the duration from one packet to the next, in units of the event's clock: how often the sender tells.
        var step: UInt32 = 0
        var lastSequence: UInt16
        /// `ended` is still to be told.
        var isOpen = true
        /// An end packet came.
        var end: (sequence: UInt16, at: Instant)?
    }

    /// The event's clock in Hz.
    package let clockRate: UInt32
    /// How long after the last packet a press whose end packets are lost ends, at least and at most.
    package static let timeouts = Duration.milliseconds(60)...Duration.milliseconds(480)
    /// Packets that are no events of 0 to 16.
    package private(set) var ignoredCount: UInt64 = 0
    private var press: Press?
    /// Timestamps that belong to presses already told, a ring.
    private var counted = InlineArray<16, UInt32>(repeating: 0)
    private var countedCount = 0

    package init(clockRate: UInt32) {
        precondition(clockRate > 0)
        self.clockRate = clockRate
    }

    /// When `expire` is due; nil while no press is open.
    package var deadline: Instant? {
        guard let press, press.isOpen else { return nil }
        let patience = Duration.nanoseconds(3 * Int64(press.step) * 1_000_000_000 / Int64(clockRate))
        return press.lastArrival + min(max(patience, Self.timeouts.lowerBound), Self.timeouts.upperBound)
    }

    /// Takes a packet of the negotiated payload type. The marker is not needed.
    package mutating func receive(
        _ payload: UnsafeRawBufferPointer, sequence: UInt16, timestamp: UInt32, at now: Instant
    ) -> TelephoneEvents {
        var events = TelephoneEvents()
        guard let packet = TelephoneEventPayload(payload), packet.code <= 16 else {
            ignoredCount &+= 1
            return events
        }
        guard let press else {
            begin(packet, sequence: sequence, timestamp: timestamp, at: now, &events)
            return events
        }
        let delta = Int32(bitPattern: timestamp &- press.timestamp)
        if delta == 0 {
            goOn(packet, sequence: sequence, at: now, &events)
        } else if wasCounted(timestamp) {
            if delta > 0 { goOn(packet, sequence: sequence, at: now, &events) }
        } else if delta > 0, isSegment(packet, UInt32(delta)) {
            self.press!.before += UInt32(delta)
            self.press!.timestamp = timestamp
            self.press!.duration = 0
            remember(timestamp)
            goOn(packet, sequence: sequence, at: now, &events)
        } else if delta > 0, isSamePress(packet, UInt32(delta), sequence: sequence, at: now) {
            remember(timestamp)
            goOn(packet, sequence: sequence, at: now, &events)
        } else if delta < 0, delta > -Int32(clamping: 10 * Int64(clockRate)) {
            // Overtaken by a later press: all that came of it is this.
            remember(timestamp)
            events.append(TelephoneEvent(code: packet.code, phase: .began))
            events.append(TelephoneEvent(code: packet.code, phase: .ended, duration: UInt32(packet.duration)))
        } else {
            close(&events)
            begin(packet, sequence: sequence, timestamp: timestamp, at: now, &events)
        }
        return events
    }

    /// Ends the press whose deadline has come.
    package mutating func expire(at now: Instant) -> TelephoneEvent? {
        guard let deadline, deadline <= now else { return nil }
        return closePress()
    }

    /// The stream changed (another SSRC, hold, a new exchange): ends an open press and forgets everything.
    package mutating func reset() -> TelephoneEvent? {
        defer {
            press = nil
            countedCount = 0
        }
        return closePress()
    }

    private mutating func closePress() -> TelephoneEvent? {
        var events = TelephoneEvents()
        close(&events)
        return events.first
    }

    // MARK: Steps

    private mutating func begin(
        _ packet: TelephoneEventPayload, sequence: UInt16, timestamp: UInt32, at now: Instant, _ events: inout TelephoneEvents
    ) {
        press = Press(
            code: packet.code, timestamp: timestamp, duration: 0, before: 0, lastArrival: now, lastSequence: sequence)
        remember(timestamp)
        events.append(TelephoneEvent(code: packet.code, phase: .began))
        goOn(packet, sequence: sequence, at: now, &events)
    }

    private mutating func goOn(
        _ packet: TelephoneEventPayload, sequence: UInt16, at now: Instant, _ events: inout TelephoneEvents
    ) {
        let duration = UInt32(packet.duration)
        // More than the longest packet time is loss.
        if duration > press!.duration { press!.step = max(press!.step, min(duration - press!.duration, clockRate * 4 / 25)) }
        press!.duration = max(press!.duration, duration)
        press!.lastArrival = now
        press!.lastSequence = sequence
        if packet.isEnd {
            if press!.end == nil { press!.end = (sequence, now) }
            close(&events)
        }
    }

    private mutating func close(_ events: inout TelephoneEvents) {
        guard let press, press.isOpen else { return }
        self.press!.isOpen = false
        events.append(TelephoneEvent(code: press.code, phase: .ended, duration: press.before + press.duration))
    }

    // MARK: The same press under another timestamp

    /// The timestamp moved on by a full duration field, and the press was seen until shortly before.
    private func isSegment(_ packet: TelephoneEventPayload, _ delta: UInt32) -> Bool {
        guard let press, press.code == packet.code, press.end == nil, delta >= 0xF000, delta <= 0x1_0000 else { return false }
        return delta < press.duration + clockRate / 5
    }

    private func isSamePress(_ packet: TelephoneEventPayload, _ delta: UInt32, sequence: UInt16, at now: Instant) -> Bool {
        guard let press, press.code == packet.code else { return false }
        // A new press can't begin before this one is over; that it is says its end, behind which a sender whose timestamp stood still
        // meanwhile begins the next one from nothing.
        if delta < press.duration { return packet.isEnd || press.end == nil || UInt32(packet.duration) >= press.duration }
        guard packet.isEnd else { return false }
        let duration = UInt32(packet.duration)
        // The time that a new press of this duration would have taken.
        let length = Duration.nanoseconds(Int64(duration) * 1_000_000_000 / Int64(clockRate))
        if let end = press.end {
            return duration == press.duration && Int16(bitPattern: sequence &- end.sequence).magnitude <= 2
                && now - end.at < length
        }
        let packets = sequence &- press.lastSequence
        return duration >= press.duration && duration - press.duration <= 3 * clockRate / 50 && packets <= 2
            && now - press.lastArrival < length
    }

    private func wasCounted(_ timestamp: UInt32) -> Bool {
        for index in 0..<Swift.min(countedCount, counted.count) where counted[index] == timestamp { return true }
        return false
    }

    private mutating func remember(_ timestamp: UInt32) {
        counted[countedCount % counted.count] = timestamp
        countedCount &+= 1
    }
}
