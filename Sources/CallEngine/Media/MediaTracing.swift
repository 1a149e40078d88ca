// What a trace gets of media: every packet of the RTP port, and of the port of RTCP, also those that are dropped here; encrypted ones as they
// passed. Keys that a person pressed, and all sound while a secret is entered, are not for everybody.

import Audio
import Basics
import RTP
import Reactor

extension MediaSession {
    /// What came to a port. No `source`: the socket is connected to it.
    func traceReceived(_ bytes: UnsafeRawBufferPointer, from source: SocketAddress?, by socket: DatagramSocket, at now: Instant) {
        guard let trace, let remote = source ?? latch?.destination else { return }
        let isRTP = PacketKind(bytes) == .rtp
        trace.add(
            bytes, .received, local: address(of: socket), remote: remote, at: now,
            hiding: isRTP ? hidden(bytes, isSecret: digits.isSecret) : nil)
    }

    func traceSent(_ packet: UnsafeRawBufferPointer, to remote: SocketAddress?, by socket: DatagramSocket) {
        guard let trace, let remote else { return }
        trace.add(
            packet, .sent, local: address(of: socket), remote: remote, at: loop.now,
            hiding: PacketKind(packet) == .rtp ? hidden(packet, isSecret: sendsSecretKeys) : nil)
    }

    private func address(of socket: DatagramSocket) -> SocketAddress {
        SocketAddress(ip: settings.localIP, port: socket.localAddress.port)
    }

    /// What nobody may see of a packet: the number of an event (255 is none, RFC 4733 section 2.3.1), or all sound.
    private func hidden(_ bytes: UnsafeRawBufferPointer, isSecret: Bool) -> (range: Range<Int>, by: UInt8)? {
        guard cipher == nil, isSecret || trace?.showsKeys == false, let packet = RTPPacket(bytes), let base = bytes.baseAddress,
            let payload = packet.payload.baseAddress, packet.payload.count > 0
        else { return nil }
        let start = payload - base
        if eventPayloads.contains(packet.payloadType) || packet.payloadType == sendEventPayload {
            return (start..<(start + 1), 255)
        }
        return isSecret ? (start..<(start + packet.payload.count), codec == .pcma ? G711Law.a.silence : G711Law.mu.silence) : nil
    }
}
