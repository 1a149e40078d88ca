// What a leg hears goes back to its far side: for load, where the far side measures both ways. Payloads are not decoded. The leg's own
// stream goes on: its SSRC, sequence numbers and timestamps.

import Audio
import Basics
import RTP
import Reactor

/// The state of an echo.
struct EchoEnd {
    /// What is added to a timestamp of the far side for our stream; nil: the next packet begins anew.
    var offset: UInt32?
}

extension MediaSession {
    /// Sends back what is heard from now on, in place of silence, until the end. What is played is heard instead.
    package func startEcho() {
        guard !isClosed else { return }
        beginNow()
        echo = EchoEnd()
    }

    /// Sends a packet of the far side back to it. Keys are not sent back.
    func sendBack(_ packet: RTPPacket, isEvent: Bool) {
        guard !isEvent, packet.payloadType != ComfortNoise.payloadType, maySend, player == nil, keySound == nil,
            eventSender == nil,
            packet.payload.count <= MediaServices.mostPayload, codec(ofPayload: packet.payloadType) == codec
        else { return }
        let isFirst = echo?.offset == nil
        let offset = echo?.offset ?? stream.timestamp &- packet.timestamp
        echo?.offset = offset
        let header = stream.header(
            payloadType: sendPayload, marker: packet.marker || isFirst, timestamp: packet.timestamp &+ offset,
            octets: packet.payload.count)
        transmit(header, packet.payload)
    }
}
