// Two legs connected: what one hears goes out at the other. Payloads are forwarded as they are when both speak the same codec, and by
// table between the two laws of G.711. Each leg's own stream goes on: its SSRC, sequence numbers and timestamps; the marker is kept.
// RTCP is not forwarded: each leg has its own. Legs are on one loop.

import Audio
import Basics
import RTP
import Reactor

/// A leg's end of a bridge.
struct BridgeEnd {
    let other: MediaSession
    /// What is added to a timestamp of this leg's far side for the other's stream; nil: the next packet begins anew.
    var offset: UInt32?
    /// When this leg last sent something that the other heard.
    var lastSent: Instant

    /// The far side's timestamps begin anew.
    mutating func restart() { offset = nil }

    /// How long nothing may come before silence is sent: less would break a stream with jitter.
    static let patience = Duration.milliseconds(100)
}

extension BridgeEnd {
    /// Whether this leg has to fill a pause with frames of its own.
    func fills(_ session: MediaSession) -> Bool {
        guard session.loop.now - lastSent >= Self.patience else { return false }
        // The next forwarded packet is put after the silence.
        other.bridge?.offset = nil
        return true
    }
}

extension MediaSession {
    /// Forwards the audio of each to the other, until `disconnect` or the end of one of them. What played stops; what is played
    /// meanwhile is heard in place of the other leg. Both are ready.
    package func connect(to other: MediaSession) {
        precondition(other !== self && loop === other.loop, "two legs of one loop")
        guard !isClosed, !other.isClosed else { return }
        disconnect()
        other.disconnect()
        for session in [self, other] {
            session.stopPlaying(.stopped)
            session.beginNow()
        }
        guard !isClosed, !other.isClosed else { return }
        bridge = BridgeEnd(other: other, lastSent: loop.now)
        other.bridge = BridgeEnd(other: self, lastSent: loop.now)
        rtp.reading = .onArrival
        other.rtp.reading = .onArrival
    }

    /// Ends the forwarding; each leg sends silence again. Once or more.
    package func disconnect() {
        guard let other = bridge?.other else { return }
        for session in [self, other] {
            session.bridge = nil
            session.rtp.reading = .onDrain
        }
    }

    /// Sends a packet of this leg's far side to the other leg's.
    func forward(_ packet: RTPPacket, isEvent: Bool) {
        guard let other = bridge?.other, other.maySend, other.player == nil, other.keySound == nil, other.eventSender == nil,
            packet.payload.count <= MediaServices.mostPayload
        else { return }
        let payloadType: UInt8
        let codec = isEvent ? other.codec : codec(ofPayload: packet.payloadType)
        if isEvent {
            guard let number = other.sendEventPayload else { return }
            payloadType = number
        } else {
            payloadType = other.sendPayload
        }
        let offset = bridge?.offset ?? other.stream.timestamp &- packet.timestamp
        let isFirst = bridge?.offset == nil
        bridge?.offset = offset
        let now = loop.now
        other.bridge?.lastSent = now
        let timestamp = packet.timestamp &+ offset
        let header = other.stream.header(
            payloadType: payloadType, marker: packet.marker || (isFirst && !isEvent), timestamp: timestamp,
            octets: packet.payload.count)
        services.counting.packetsForwarded += 1
        guard codec != other.codec else {
            other.transmit(header, packet.payload)
            if !isEvent { other.recorder?.add(.near, packet.payload, codec: codec, timestamp: timestamp, at: now) }
            return
        }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: packet.payload.count) { bytes in
            _ = bytes.update(fromContentsOf: packet.payload)
            (codec == .pcmu ? G711Law.mu : G711Law.a).convertToOther(bytes)
            other.transmit(header, UnsafeRawBufferPointer(bytes))
            other.recorder?.add(.near, UnsafeRawBufferPointer(bytes), codec: other.codec, timestamp: timestamp, at: now)
        }
    }
}
