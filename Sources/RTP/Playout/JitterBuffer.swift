// The adaptive jitter buffer: speexdsp's, which weighs delay against packets that come too late. It is made only while somebody listens:
// it takes about 8 KiB, and 64 payloads. Numbers and timestamps may wrap; another stream (SSRC, clock) needs a new buffer or a `reset`.
//
//   put(packet) …          as packets come, in any order
//   take(…) until the tick is full, then tick(left: units that were taken beyond it)

import CSpeexDSP

/// Gives the packets of one stream in their order and time.
package final class JitterBuffer {
    /// What comes next. All lengths are units of the RTP clock.
    package enum Step {
        /// A packet. `missing` units before it did not come; where that is negative, so many of its first ones were played already.
        case packet(UnsafeRawBufferPointer, payloadType: UInt8, missing: Int)
        /// Nothing came in time, or a pause is put in to wait longer from now on: so much is to be made up. `next` is the payload of the
        /// packet right behind the gap, when it is there and the gap is one packet.
        case gap(Int, next: UnsafeRawBufferPointer?)
        /// Nothing came so far.
        case nothing
    }

    private struct Slot {
        var sequence: UInt16 = 0
        var timestamp: UInt32 = 0
        var payloadType: UInt8 = 0
        var bytes: [UInt8] = []
    }

    /// In Hz.
    package let clockRate: Int
    private let state: OpaquePointer
    /// By sequence number. What is overwritten has waited for over a second.
    private var slots = [Slot](repeating: Slot(), count: 64)
    /// The last packet that was given, or was missing.
    private var sequence: UInt16 = 0
    /// How much is asked for at once: as long as packets are, so that a lost one is one gap.
    private var wanted: Int
    private var lastSpan: Int
    /// What was given last is shorter than what was asked for.
    private var isShort = false

    package init(clockRate: Int) {
        precondition(clockRate > 0)
        self.clockRate = clockRate
        guard let state = jitter_buffer_init(Int32(clockRate / 100)) else {
            preconditionFailure("speexdsp gave no jitter buffer")
        }
        self.state = state
        // Gaps are as long as they are; the delay changes in steps of 10 ms.
        var size = Int32(clockRate / 400)
        jitter_buffer_ctl(state, JITTER_BUFFER_SET_CONCEALMENT_SIZE, &size)
        rw_jitter_keep_data(state)
        wanted = clockRate / 50
        lastSpan = wanted
    }

    deinit { jitter_buffer_destroy(state) }

    /// The stream begins anew.
    package func reset() { jitter_buffer_reset(state) }

    /// Takes a packet. `span`: how long its audio is, more than 0.
    package func put(_ payload: UnsafeRawBufferPointer, payloadType: UInt8, sequence: UInt16, timestamp: UInt32, span: Int) {
        guard span > 0 else { return }
        let index = Int(sequence % 64)
        slots[index].sequence = sequence
        slots[index].timestamp = timestamp
        slots[index].payloadType = payloadType
        slots[index].bytes.removeAll(keepingCapacity: true)
        slots[index].bytes.append(contentsOf: payload)
        lastSpan = span
        wanted = min(wanted, span)
        var packet = JitterBufferPacket()
        // Not read by anyone, but nil would be no packet.
        packet.data = UnsafeMutablePointer(bitPattern: 1)
        packet.len = 1
        packet.timestamp = timestamp
        packet.span = UInt32(span)
        packet.sequence = sequence
        jitter_buffer_put(state, &packet)
    }

    /// What comes next; its payloads are there during `body`.
    package func take(_ body: (Step) -> Void) {
        var packet = JitterBufferPacket()
        var offset: Int32 = 0
        let result = jitter_buffer_get(state, &packet, Int32(wanted), &offset)
        let span = Int(packet.span)
        isShort = span + Int(offset) < wanted
        if result == JITTER_BUFFER_OK {
            sequence = packet.sequence
            wanted = min(span, lastSpan)
            let slot = slots[Int(packet.sequence % 64)]
            guard slot.sequence == packet.sequence, slot.timestamp == packet.timestamp else { return body(.gap(span, next: nil)) }
            slot.bytes.withUnsafeBytes { body(.packet($0, payloadType: slot.payloadType, missing: Int(offset))) }
            return
        }
        guard span > 0 else { return body(.nothing) }
        guard result == JITTER_BUFFER_MISSING else { return body(.gap(span, next: nil)) }
        sequence &+= 1
        let next = slots[Int((sequence &+ 1) % 64)]
        if next.sequence == sequence &+ 1, next.timestamp == packet.timestamp &+ packet.span, !next.bytes.isEmpty {
            next.bytes.withUnsafeBytes { body(.gap(span, next: $0)) }
        } else {
            body(.gap(span, next: nil))
        }
    }

    /// A tick is over; `left`: how much of what was taken will be played in the next one. speexdsp complains on standard error, once a tick,
    /// where what it gave last is shorter than what it was asked for, as pauses that are put in and packets of mixed lengths are; then the
    /// next tick tells it the time.
    package func tick(left: Int) {
        if !isShort { jitter_buffer_remaining_span(state, UInt32(left)) }
    }
}
