// Pauses as comfort noise (RFC 3389): where both sides agreed on payload 13, silence is not sent but told, as the pause begins and every
// 400 ms, which keeps bindings of NAT open and makes a lost packet good. The first packet of audio after it has the marker set.

import Audio
import Basics
import RTP
import Reactor

/// How a session tells its pauses.
struct ComfortNoiseSender {
    /// A quiet room, in -dBov: so nobody thinks that the line is dead.
    static let standard: UInt8 = 65
    /// The loudest that counts as noise, in -dBov.
    static let loudest: UInt8 = 30

    var level = standard
    /// The number of the packet after the last that told a pause: another one has gone out when it is not the next.
    private var sequence: UInt16?
    private var told = Instant.zero

    private static let interval = Duration.milliseconds(400)

    /// Whether the pause is to be told now, in the packet with this number.
    mutating func isDue(at now: Instant, sequence next: UInt16) -> Bool {
        guard sequence != next || now - told >= Self.interval else { return false }
        sequence = next &+ 1
        told = now
        return true
    }
}

extension MediaSession {
    /// A tick of a pause.
    func sendPause(at now: Instant) {
        guard maySend, comfortNoise != nil else { return }
        if bridge != nil { followForwarded() }
        if let recorder {
            let octets = silence.copyPayload(0, to: services.payload)
            recorder.addNear(
                UnsafeRawBufferPointer(rebasing: services.payload[..<octets]), codec: codec, timestamp: stream.timestamp, at: now)
        }
        guard comfortNoise!.isDue(at: now, sequence: stream.sequence) else { return }
        services.payload[0] = comfortNoise!.level
        let header = stream.header(
            payloadType: ComfortNoise.payloadType, marker: false, timestamp: stream.timestamp, octets: 1)
        transmit(header, octets: 1)
        services.counting.noiseSent += 1
    }

    /// The bridged leg's far side pauses, and says how its background sounds.
    func pause(like noise: UnsafeRawBufferPointer) {
        guard comfortNoise != nil, let level = noise.first else { return }
        comfortNoise?.level = max(level & 0x7F, ComfortNoiseSender.loudest)
        // What fills pauses begins with the next tick.
        bridge?.lastSent = loop.now - BridgeEnd.patience
    }
}
