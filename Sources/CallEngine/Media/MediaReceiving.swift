// What arrives at the RTP port: checked, counted, and given to whoever is interested. Nothing is decoded unless somebody listens, and
// nothing is allocated on the way.

import Audio
import Basics
import RTP
import Reactor
import SDP

extension MediaSession {
    /// A datagram of the RTP socket. No `source`: the socket is connected to it.
    func received(_ bytes: UnsafeRawBufferPointer, from source: SocketAddress?, at now: Instant) {
        guard !isClosed else { return }
        if trace != nil { traceReceived(bytes, from: source, by: rtp, at: now) }
        switch PacketKind(bytes) {
        case .rtp: break
        case .rtcp:
            receivedReport(bytes, from: source, at: now)
            return
        case .stun, .zrtp, .dtls, .turnChannel, .unknown:
            services.counting.droppedMalformed += 1
            return
        }
        guard let plain = unprotected(bytes, .rtp) else { return }
        guard let packet = RTPPacket(plain) else {
            services.counting.droppedMalformed += 1
            return
        }
        // The kernel lets nobody but the peer speak to a connected socket.
        if let source, !isUsable(packet, from: source, at: now) {
            services.counting.droppedForeign += 1
            return
        }
        guard receivable.contains(packet.payloadType) else {
            services.counting.droppedUnknownPayload += 1
            return
        }
        accepted(packet, at: now)
    }

    /// Nothing is before the first agreement.
    private func isUsable(_ packet: RTPPacket, from source: SocketAddress, at now: Instant) -> Bool {
        let wasFixed = latch?.isFixed
        let verdict = latch?.receive(
            from: source, ssrc: packet.ssrc, sequence: packet.sequence, payloadType: packet.payloadType, at: now)
        switch verdict {
        case .accepted, .latched:
            if latch?.isFixed != wasFixed { settlesAt = now }
            return true
        case .candidate, .dropped, nil: return false
        }
    }

    private func accepted(_ packet: RTPPacket, at now: Instant) {
        let isEvent = eventPayloads.contains(packet.payloadType)
        // Another codec in mid-stream may have another clock.
        if packet.payloadType != heardPayload, !isEvent {
            heardPayload = packet.payloadType
            receive().statistics.change(clockRate: UInt32(codec(ofPayload: packet.payloadType).clockRate))
        }
        let arrival = receive().statistics.receive(
            ssrc: packet.ssrc, sequence: packet.sequence, timestamp: packet.timestamp, at: now, measuresJitter: !isEvent)
        guard arrival.isUsable else {
            services.counting.droppedDuplicate += 1
            return
        }
        services.counting.packetsReceived += 1
        lastHeard = now
        if case .restarted = arrival {
            endOpenKey()
            recorder?.restart(at: now)
            playout?.restart()
            bridge?.restart()
            echo?.offset = nil
        }
        if !hasHeard {
            hasHeard = true
            user?.firstMediaArrived()
        }
        if bridge != nil { if !isEvent { forward(packet) } } else if echo != nil { sendBack(packet, isEvent: isEvent) }
        if isEvent {
            receivedEvent(packet, at: now)
        } else if recorder != nil || isListening {
            hear(packet, at: now)
        }
    }

    private func receivedEvent(_ packet: RTPPacket, at now: Instant) {
        guard let reception, let format = eventFormats.first(where: { $0.payload == packet.payloadType }) else { return }
        if reception.events?.clockRate != format.clockRate {
            endOpenKey()
            reception.events = TelephoneEventReceiver(clockRate: format.clockRate)
        }
        let events = reception.events!.receive(packet.payload, sequence: packet.sequence, timestamp: packet.timestamp, at: now)
        keyDeadline = reception.events!.deadline ?? .never
        for event in events { report(event) }
    }

    /// The codec of a negotiated audio number.
    func codec(ofPayload payload: UInt8) -> Audio.AudioCodec {
        for entry in audioPayloads where entry.payload == payload { return entry.codec }
        return codec
    }
}
