// Two legs connected: what one hears goes out at the other. Payloads are forwarded as they are when both speak the same codec, and by
// table between the two laws of G.711; between other codecs they are decoded and encoded (Playout, Transcoder). Each leg's own stream goes
// on: its SSRC, sequence numbers and timestamps; the marker is kept. Neither RTCP nor keys are forwarded: each leg has its own
// (MediaKeyRelaying). Legs are on one loop.

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
    /// What was forwarded to this leg last, on its own stream: where it began and where what follows begins. nil: own frames have followed.
    var forwarded: (start: UInt32, end: UInt32)?

    /// The far side's timestamps begin anew.
    mutating func restart() { offset = nil }

    /// What the other leg says is decoded, and encoded for this leg's far side.
    var transcoder: Transcoder?
    /// What this leg hears has to be transcoded for the other one.
    var isTranscoded = false

    /// Seconds that a far side's clock may move from one packet to the next; more is a jump.
    static let longestStep = 1
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
            session.stopUnder(.stopped)
            session.beginNow()
        }
        guard !isClosed, !other.isClosed else { return }
        bridge = BridgeEnd(other: other, lastSent: loop.now)
        other.bridge = BridgeEnd(other: self, lastSent: loop.now)
        rtp.reading = .onArrival
        other.rtp.reading = .onArrival
    }

    /// Whether each can hear the other: their codecs are one, or both can be coded. Both are ready.
    func canConnect(to other: MediaSession) -> Bool {
        codec.isSameEncoding(as: other.codec) || codec.isCoded && other.codec.isCoded
    }

    /// Ends the forwarding; each leg sends silence again. Once or more.
    package func disconnect() {
        guard let other = bridge?.other else { return }
        for session in [self, other] {
            session.relaysSound = false
            session.endRelayedKeys()
            session.followForwarded()
            session.bridge = nil
            session.comfortNoise?.level = ComfortNoiseSender.standard
            session.rtp.reading = .onDrain
        }
    }

    /// Sends a packet of audio of this leg's far side to the other leg's.
    func forward(_ packet: RTPPacket) {
        guard let other = bridge?.other else { return }
        // A leg that has not agreed on comfort noise is filled with silence.
        if packet.payloadType == ComfortNoise.payloadType { return other.pause(like: packet.payload) }
        let codec = codec(ofPayload: packet.payloadType)
        let units = codec.ticks(in: packet.payload)
        bridge?.isTranscoded = !codec.passes(as: other.codec) || codec.isCoded && units > other.mostUnits
        guard bridge?.isTranscoded == false, other.maySend, other.player == nil, other.keySound == nil, other.eventSender == nil,
            packet.payload.count <= MediaServices.mostPayload
        else { return }
        let (timestamp, isFirst) = forwardedTimestamp(of: packet, lasting: UInt32(units), other)
        let now = loop.now
        other.bridge?.lastSent = now
        let header = other.stream.header(
            payloadType: other.sendPayload, marker: packet.marker || isFirst, timestamp: timestamp, octets: packet.payload.count)
        services.counting.packetsForwarded += 1
        guard let law = codec.law, codec != other.codec else {
            other.transmit(header, packet.payload)
            other.recorder?.addNear(packet.payload, codec: codec, timestamp: timestamp, at: now)
            return
        }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: packet.payload.count) { bytes in
            _ = bytes.update(fromContentsOf: packet.payload)
            law.convertToOther(bytes)
            other.transmit(header, UnsafeRawBufferPointer(bytes))
            other.recorder?.addNear(UnsafeRawBufferPointer(bytes), codec: other.codec, timestamp: timestamp, at: now)
        }
    }

    /// The far side's clock is kept as long as it goes on; where it begins anew, or jumps, it is put behind what was sent.
    private func forwardedTimestamp(
        of packet: RTPPacket, lasting units: UInt32, _ other: MediaSession
    ) -> (UInt32, isFirst: Bool) {
        if let offset = bridge?.offset, let former = other.bridge?.forwarded {
            let timestamp = packet.timestamp &+ offset
            let step = Int(Int32(bitPattern: timestamp &- former.start))
            if abs(step) <= codec.clockRate * BridgeEnd.longestStep {
                // One that comes late changes nothing.
                if step > 0 { other.bridge?.forwarded = (timestamp, timestamp &+ units) }
                return (timestamp, false)
            }
        }
        other.followForwarded()
        let timestamp = other.stream.timestamp
        bridge?.offset = timestamp &- packet.timestamp
        other.bridge?.forwarded = (timestamp, timestamp &+ units)
        return (timestamp, true)
    }

    /// Own frames come next: behind what was forwarded, whose clock may be ahead of ours.
    func followForwarded() {
        guard let end = bridge?.forwarded?.end else { return }
        stream.follow(end)
        bridge?.forwarded = nil
    }

    // MARK: Legs with different codecs

    /// What the other leg's far side said, for ours.
    func takeForeign(_ samples: UnsafeBufferPointer<Int16>, rate: Int) {
        guard !isClosed, let bridge else { return }
        let transcoder: Transcoder
        if let known = bridge.transcoder, known.codec == codec, known.rate == rate, known.packetTime == packetTime {
            transcoder = known
        } else {
            transcoder = Transcoder(codec, rate: rate, packetTime: packetTime)
            self.bridge?.transcoder = transcoder
        }
        transcoder.put(samples)
    }

    /// The next frame of the other leg, encoded into `services.payload`; nil when there is none.
    func nextForeign() -> Int? {
        guard let octets = bridge?.transcoder?.next(to: services.payload) else { return nil }
        bridge?.other.bridge?.offset = nil
        bridge?.lastSent = loop.now
        services.counting.packetsTranscoded &+= 1
        return octets
    }
}

extension Audio.AudioCodec {
    /// Whether payloads of it can go to a side that has agreed on `other`: as they are, or by the table between the laws of G.711.
    fileprivate func passes(as other: Audio.AudioCodec) -> Bool {
        isSameEncoding(as: other) || (law != nil && other.law != nil)
    }
}
