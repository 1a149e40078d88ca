// A tick of a session: what arrived is read, then one packet goes out. In this order, so that a key stops the prompt before its next
// packet.

import Audio
import Basics
import RTP
import Reactor

extension MediaSession {
    /// Called by the clock once a packet time.
    func tick(at now: Instant) {
        playerPlace.prefetch(lines: 2)
        receptionPlace.prefetch(lines: 2)
        // A bridged leg is woken by its packets.
        if bridge == nil {
            var count = 0
            while !isClosed, let datagram = rtp.look(after: count) {
                count += 1
                guard datagram.arrival.nanoseconds >= opened.nanoseconds else {
                    services.pool.countStray()
                    continue
                }
                received(datagram.bytes, from: datagram.source, at: datagram.arrival)
            }
        }
        if now.nanoseconds >= settlesAt.nanoseconds { settle() }
        if now.nanoseconds >= keyDeadline.nanoseconds {
            keyDeadline = .never
            if let event = reception?.events?.expire(at: now) { report(event) }
        }
        guard !isClosed else { return }
        if conference != nil { passConferenceTime() }
        sendFrame(at: now)
        guard !isClosed else { return }
        stream.advance(by: unitsPerTick)
        if playout != nil || !listeners.isEmpty { listen(at: now) }
        guard !isClosed else { return }
        recorder?.tick(now)
        if now.nanoseconds >= nextReport.nanoseconds { sendReport(at: now) }
        if expectsMedia, now.nanoseconds &- lastHeard.nanoseconds >= timeout {
            lastHeard = now
            services.counting.timeouts += 1
            user?.mediaTimedOut()
        }
    }

    /// Packet times that passed while the loop was late: the timestamp goes on.
    func skip(ticks: Int) { stream.advance(by: unitsPerTick &* UInt32(truncatingIfNeeded: ticks)) }

    private func sendFrame(at now: Instant) {
        if relayed != nil { sendNextRelayed() }
        if eventSender != nil, sendEvent() { return interruptLive() }
        if let sound = keySound {
            keySound?.packet += 1
            send(
                octets: sound.prompt.copyPayload(sound.packet, to: services.payload), of: .key, isJoint: sound.packet == 0,
                at: now)
            if sound.packet + 1 >= sound.prompt.packetCount {
                keySound = nil
                keyWaiter?.resume(returning: true)
            }
            return
        }
        guard maySend else { return interruptLive() }
        if let mixer {
            if let octets = nextMixed(mixer) { return send(octets: octets, of: .mix, at: now) }
            guard !isClosed else { return }
        } else if let player {
            switch player.next(to: services.payload) {
            case .payload(let octets):
                send(octets: octets, of: .prompt, isJoint: player.isJoint, lead: player.lead(octets: G722Seam.history), at: now)
                if player.isOver { end(player, .finished) }
                return
            case .silence:
                sendSilence(at: now)
                if player.isOver { end(player, .finished) }
                return
            case .notYet: break
            case .over:
                end(player, .finished)
                guard !isClosed else { return }
            }
        }
        if let octets = nextForeign() { return send(octets: octets, of: .foreign, at: now) }
        if let octets = nextOfConference() { return send(octets: octets, of: .conference, at: now) }
        if let bridge, bridge.fills(self) == false { return }
        if echo != nil { return }
        if settings.idle == .silence { sendSilence(at: now) }
    }

    /// What the other leg, or a conference, says is not heard in this tick.
    private func interruptLive() {
        bridge?.transcoder?.interrupt()
        conference?.interrupt()
    }

    private func sendSilence(at now: Instant) {
        if comfortNoise != nil { return sendPause(at: now) }
        let octets = silence.copyPayload(silencePacket, to: services.payload)
        silencePacket = silencePacket + 1 == silence.packetCount ? 0 : silencePacket + 1
        send(octets: octets, of: .silence, at: now)
    }

    /// A frame of our own stream, which lies in `services.payload`; one without octets is a pause.
    /// - Parameter isJoint: it was encoded apart from the one before of the same source.
    private func send(
        octets: Int, of source: G722Seam.Source, isJoint: Bool = false, lead: @autoclosure () -> [UInt8] = [], at now: Instant
    ) {
        guard maySend, octets > 0 else { return }
        if bridge != nil { followForwarded() }
        switch source {
        case .foreign, .conference: break
        case .silence: bridge?.transcoder?.interrupt()
        case .key, .prompt, .mix: interruptLive()
        }
        if let seam {
            seam.pass(
                UnsafeMutableRawBufferPointer(rebasing: services.payload[..<octets]), of: source, isJoint: isJoint, lead: lead())
        }
        let timestamp = stream.timestamp
        transmit(stream.audio(payloadType: sendPayload, octets: octets), octets: octets)
        guard let recorder else { return }
        let payload = UnsafeRawBufferPointer(rebasing: services.payload[..<octets])
        recorder.addNear(payload, codec: codec, timestamp: timestamp, at: now)
    }

    /// Sends a packet whose payload lies elsewhere.
    func transmit(_ header: RTPHeader, _ payload: UnsafeRawBufferPointer) {
        if let seam, header.payloadType == sendPayload { seam.passed(payload) }
        services.payload.copyMemory(from: payload)
        transmit(header, octets: payload.count)
    }

    /// Puts the header before the payload that lies in `services.payload`, and gives the packet to the system.
    func transmit(_ header: RTPHeader, octets: Int) {
        guard !isClosed else { return }
        header.write(to: services.packet)
        var count = RTPHeader.size + octets
        if let cipher {
            guard let protected = cipher.sender.protect(services.packet, count: count) else {
                services.counting.droppedOnSending += 1
                return
            }
            count = protected
        }
        let packet = UnsafeRawBufferPointer(start: services.packet.baseAddress, count: count)
        if trace != nil { traceSent(packet, to: latch?.destination, by: rtp) }
        if isConnected ? rtp.sendNow(packet) : sendToLatched(packet) {
            services.counting.packetsSent &+= 1
        } else {
            services.counting.droppedOnSending += 1
        }
    }

    private func sendToLatched(_ packet: UnsafeRawBufferPointer) -> Bool {
        guard let destination = latch?.destination else { return false }
        return rtp.sendNow(packet, to: destination)
    }
}
