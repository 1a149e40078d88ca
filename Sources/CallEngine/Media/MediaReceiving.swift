// What arrives at the RTP port: checked, counted, and given to whoever is interested. Nothing is decoded unless somebody listens, and
// nothing is allocated on the way.

import Audio
import Basics
import RTP
import Reactor

extension MediaSession {
    /// A datagram of the RTP socket.
    func received(_ bytes: UnsafeRawBufferPointer, from source: SocketAddress) {
        guard let ports, latch != nil else { return }
        let now = ports.rtp.arrival
        switch PacketKind(bytes) {
        case .rtp: break
        case .rtcp:
            receivedReport(bytes, from: source, at: now)
            return
        case .stun, .zrtp, .dtls, .turnChannel, .unknown:
            services.counting.droppedMalformed += 1
            return
        }
        guard let packet = RTPPacket(bytes) else {
            services.counting.droppedMalformed += 1
            return
        }
        guard latch!.receive(from: source, ssrc: packet.ssrc, payloadType: packet.payloadType, at: now).isUsable else {
            services.counting.droppedForeign += 1
            return
        }
        guard receivable.contains(packet.payloadType) else {
            services.counting.droppedUnknownPayload += 1
            return
        }
        accepted(packet, at: now)
    }

    private func accepted(_ packet: RTPPacket, at now: Instant) {
        let isEvent = eventPayloads.contains(packet.payloadType)
        let arrival = receive().statistics.receive(
            ssrc: packet.ssrc, sequence: packet.sequence, timestamp: packet.timestamp, at: now, measuresJitter: !isEvent)
        guard arrival.isUsable else {
            services.counting.droppedDuplicate += 1
            return
        }
        services.counting.packetsReceived += 1
        lastHeard = now
        if arrival == .restarted {
            endOpenKey()
            recorder?.restart(.far)
            bridge?.restart()
        }
        if !hasHeard {
            hasHeard = true
            user?.firstMediaArrived()
        }
        if bridge != nil { forward(packet, isEvent: isEvent) }
        if isEvent {
            receivedEvent(packet, at: now)
        } else if recorder != nil || wantsInband || !listeners.isEmpty {
            hear(packet, arrival, at: now)
        }
    }

    private func receivedEvent(_ packet: RTPPacket, at now: Instant) {
        guard let reception, let eventClock else { return }
        if reception.events == nil { reception.events = TelephoneEventReceiver(clockRate: eventClock) }
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

extension SourceLatch.Verdict {
    @inline(__always)
    fileprivate var isUsable: Bool {
        switch self {
        case .accepted, .latched: true
        case .candidate, .dropped: false
        }
    }
}
