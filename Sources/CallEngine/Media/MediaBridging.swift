// Two legs connected: what one hears goes out at the other. Payloads are forwarded as they are when both speak the same codec, and by
// table between the two laws of G.711; between other codecs they are decoded and encoded (Playout, Transcoder). Each leg's own stream goes
// on: its SSRC, sequence numbers and timestamps; the marker is kept. RTCP is not forwarded: each leg has its own. Legs are on one loop.

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

    /// What the other leg says is decoded, and encoded for this leg's far side.
    var transcoder: Transcoder?
    /// What this leg hears has to be transcoded for the other one.
    var isTranscoded = false

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
            session.releaseRelayed()
            session.bridge = nil
            session.comfortNoise?.level = ComfortNoiseSender.standard
            session.rtp.reading = .onDrain
        }
    }

    /// Sends a packet of this leg's far side to the other leg's.
    func forward(_ packet: RTPPacket, isEvent: Bool) {
        guard let other = bridge?.other else { return }
        // A leg that has not agreed on comfort noise is filled with silence.
        if packet.payloadType == ComfortNoise.payloadType { return other.pause(like: packet.payload) }
        let codec = isEvent ? other.codec : codec(ofPayload: packet.payloadType)
        if !isEvent { bridge?.isTranscoded = !codec.passes(as: other.codec) }
        guard bridge?.isTranscoded == false, other.maySend, other.player == nil, other.keySound == nil, other.eventSender == nil,
            packet.payload.count <= MediaServices.mostPayload
        else { return }
        let payloadType: UInt8
        if isEvent {
            guard let number = other.sendEventPayload, other.sendEventClock == eventClock else { return }
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
        guard let law = codec.law, codec != other.codec else {
            other.transmit(header, packet.payload)
            if !isEvent { other.recorder?.addNear(packet.payload, codec: codec, timestamp: timestamp, at: now) }
            return
        }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: packet.payload.count) { bytes in
            _ = bytes.update(fromContentsOf: packet.payload)
            law.convertToOther(bytes)
            other.transmit(header, UnsafeRawBufferPointer(bytes))
            other.recorder?.addNear(UnsafeRawBufferPointer(bytes), codec: other.codec, timestamp: timestamp, at: now)
        }
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

    /// A key of this leg's far side, for the other's, where its packets cannot be passed on: another clock, no telephone-event, or a
    /// stream of our own.
    func relay(_ event: TelephoneEvent, _ digit: Digit) {
        guard let bridge, bridge.isTranscoded || bridge.other.sendEventClock != eventClock else { return }
        guard let other = relaying else { return }
        switch event.phase {
        case .began: other.startRelayed(digit)
        case .ended: other.eventSender?.release()
        }
    }

    /// The other leg, when keys may be sent there now.
    private var relaying: MediaSession? {
        guard let other = bridge?.other, other.isReady, other.maySend, !other.isSendingDigits else { return nil }
        return other
    }

    /// A key that came by INFO, of which the other leg hears nothing else.
    func relay(_ digit: Digit, for duration: Duration?) {
        relaying?.sendRelayed(digit, for: max(.milliseconds(100), min(duration ?? .milliseconds(160), .seconds(5))))
    }

    /// A key that came as sound goes on as an event where the other side has agreed on these: its sound may not survive the other codec, and
    /// nobody listens for it there. From here on the event takes the place of the sound.
    func relaySound(of digit: Digit) {
        guard let other = relaying, other.canSendEvents, other.eventSender == nil else { return }
        other.startRelayed(digit)
        relaysSound = true
    }

    func releaseRelayed() {
        guard relaysSound else { return }
        relaysSound = false
        bridge?.other.eventSender?.release()
    }
}

extension Audio.AudioCodec {
    /// Whether payloads of it can go to a side that has agreed on `other`: as they are, or by the table between the laws of G.711.
    fileprivate func passes(as other: Audio.AudioCodec) -> Bool {
        isSameEncoding(as: other) || (law != nil && other.law != nil)
    }
}
