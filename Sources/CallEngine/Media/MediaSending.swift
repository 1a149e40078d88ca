// A tick of a session: what arrived is read, then one packet goes out. In this order, so that a key stops the prompt before its next
// packet.

import Audio
import Basics
import RTP
import Reactor

extension MediaSession {
    /// Called by the clock once a packet time.
    func tick() {
        guard let ports else { return }
        // A bridged leg is woken by its packets.
        if bridge == nil { ports.rtp.look() }
        let now = loop.now
        if now >= settlesAt { settle() }
        if now >= keyDeadline {
            keyDeadline = .never
            if let event = reception?.events?.expire(at: now) { report(event) }
        }
        guard self.ports != nil else { return }
        sendFrame()
        guard self.ports != nil else { return }
        stream.advance(by: unitsPerTick)
        if !listeners.isEmpty || inband != nil { passTime(now) }
        recorder?.tick(now)
        if now >= nextReport { sendReport(at: now) }
        if expectsMedia, now.nanoseconds &- lastHeard.nanoseconds >= timeout {
            lastHeard = now
            services.counting.timeouts += 1
            user?.mediaTimedOut()
        }
    }

    /// Packet times that passed while the loop was late: the timestamp goes on.
    func skip(ticks: Int) { stream.advance(by: unitsPerTick &* UInt32(truncatingIfNeeded: ticks)) }

    private func sendFrame() {
        if eventSender != nil, sendEvent() { return }
        if let sound = keySound {
            keySound?.packet += 1
            sound.prompt.withPayload(sound.packet) { send($0) }
            if sound.packet + 1 >= sound.prompt.packetCount {
                keySound = nil
                keyWaiter?.resume(returning: true)
            }
            return
        }
        guard maySend else { return }
        if let player {
            switch player.next() {
            case .payload(let prompt, let packet):
                prompt.withPayload(packet) { send($0) }
                if player.isOver { end(player, .finished) }
                return
            case .silence:
                sendSilence()
                if player.isOver { end(player, .finished) }
                return
            case .notYet: break
            case .over:
                end(player, .finished)
                guard ports != nil else { return }
            }
        }
        if let bridge, bridge.fills(self) == false { return }
        if settings.idle == .silence { sendSilence() }
    }

    private func sendSilence() {
        let count = codec.samples(inMilliseconds: packetTime)
        if codec == .pcma {
            Self.silentA.withUnsafeBufferPointer { send(UnsafeBufferPointer(rebasing: $0[..<count])) }
        } else {
            Self.silentMu.withUnsafeBufferPointer { send(UnsafeBufferPointer(rebasing: $0[..<count])) }
        }
    }

    /// 60 ms at 8 kHz.
    private static let silentA = [UInt8](repeating: G711Law.a.silence, count: 480)
    private static let silentMu = [UInt8](repeating: G711Law.mu.silence, count: 480)

    /// A frame of our own stream.
    private func send(_ payload: UnsafeBufferPointer<UInt8>) {
        guard maySend else { return }
        let timestamp = stream.timestamp
        let header = stream.audio(payloadType: sendPayload, octets: payload.count)
        transmit(header, UnsafeRawBufferPointer(payload))
        recorder?.add(.near, UnsafeRawBufferPointer(payload), codec: codec, timestamp: timestamp, at: loop.now)
    }

    /// Puts a packet together and gives it to the system.
    @inline(__always)
    func transmit(_ header: RTPHeader, _ payload: UnsafeRawBufferPointer) {
        guard let ports, let latch else { return }
        let packet = services.packet
        header.write(to: packet)
        if let base = payload.baseAddress {
            (packet.baseAddress! + RTPHeader.size).copyMemory(from: base, byteCount: payload.count)
        }
        let whole = UnsafeRawBufferPointer(start: packet.baseAddress, count: RTPHeader.size + payload.count)
        if isConnected ? ports.rtp.sendNow(whole) : ports.rtp.sendNow(whole, to: latch.destination) {
            services.counting.packetsSent += 1
        } else {
            services.counting.droppedOnSending += 1
        }
    }
}
