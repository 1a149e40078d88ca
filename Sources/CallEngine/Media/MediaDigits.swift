// Keys of both directions: telephone-event (RFC 4733), sound, and those that came by INFO.

import Audio
import Basics
import RTP
import Reactor
import SDP

/// A key as sound: what it is, and as what it is sent.
struct KeySound {
    var clip: AudioClip
    var prompt: EncodedPrompt
    var packet = 0
}

extension MediaSession {
    // MARK: Received

    /// A key that came by SIP INFO.
    package func receiveInfo(digit: Digit, duration: Duration?) {
        guard !isClosed else { return }
        let isNew = keyBegan(digit, .info, at: loop.now)
        keyEnded(digit, .info, at: loop.now)
        // Who sends events as well has told the other leg by them.
        if isNew, !sendsEvents { relay(digit, for: duration) }
    }

    func report(_ event: TelephoneEvent) {
        guard let digit = Digit(eventCode: event.code) else { return }
        // The first key may have been told by INFO before, and has been passed on then.
        let isFirst = !sendsEvents
        sendsEvents = true
        if bridge != nil, !isFirst || event.phase == .ended { relay(event, digit) }
        switch event.phase {
        case .began: if keyBegan(digit, .rfc4733, at: loop.now), isFirst { relay(event, digit) }
        case .ended: keyEnded(digit, .rfc4733, at: loop.now)
        }
    }

    func report(_ event: DTMFReceiver.Event) {
        switch event {
        case .began(let key):
            guard let digit = Digit(Character(Unicode.Scalar(key))) else { return }
            if keyBegan(digit, .inband, at: loop.now) { relaySound(of: digit) }
        case .ended(let key):
            guard let digit = Digit(Character(Unicode.Scalar(key))) else { return }
            keyEnded(digit, .inband, at: loop.now)
            releaseRelayed()
        }
    }

    /// Nobody listens for keys as sound any more: one that sounds is over.
    func endInband() {
        if let key = inband?.present { report(DTMFReceiver.Event.ended(key)) }
        inband = nil
    }

    /// The stream changed: the end of an open key will not come.
    func endOpenKey() {
        keyDeadline = .never
        if let event = reception?.events?.reset() { report(event) }
    }

    /// Whether it is a new press.
    @discardableResult
    private func keyBegan(_ digit: Digit, _ source: DigitSource, at now: Instant) -> Bool {
        guard merger.began(digit, by: source, at: now) else { return false }
        digits.receive(DigitEvent(digit: digit, phase: .began, source: source, at: now))
        return true
    }

    private func keyEnded(_ digit: Digit, _ source: DigitSource, at now: Instant) {
        guard merger.ended(digit, by: source, at: now) else { return }
        digits.receive(DigitEvent(digit: digit, phase: .ended, source: source, at: now))
    }

    // MARK: Sent

    /// Sends keys by telephone-event, or as sound where that was not negotiated; returns when the last one is over. What plays waits
    /// meanwhile. `w` waits half a second, `W` one second. `info` is no matter of media.
    package func sendDigits(_ digits: String, options: SendDigitsOptions) async throws {
        guard isReady else { throw CallControlError.noMedia(operation: "send-digits") }
        guard !isSendingDigits else {
            throw CallControlError.invalid(operation: "send-digits", why: "other keys are being sent")
        }
        let asSound: Bool
        switch options.method {
        case .auto: asSound = !canSendEvents
        case .rfc4733:
            guard canSendEvents else {
                throw CallControlError.invalid(operation: "send-digits", why: "telephone-event was not negotiated")
            }
            asSound = false
        case .inband: asSound = true
        case .info: throw CallControlError.invalid(operation: "send-digits", why: "INFO is not sent by media")
        }
        guard !asSound || codec.isCoded else { throw CallControlError.invalid(operation: "send-digits", why: codec.notDecoded) }
        beginNow()
        isSendingDigits = true
        sendsSecretKeys = options.isSecret
        defer { stopSendingDigits() }
        for character in digits {
            if character == "w" || character == "W" {
                try await loop.sleep(for: character == "w" ? .milliseconds(500) : .seconds(1))
                continue
            }
            guard let digit = Digit(character) else {
                throw CallControlError.invalid(operation: "send-digits", why: "\"\(character)\" is no key")
            }
            guard !asSound || digit != .flash else {
                throw CallControlError.invalid(operation: "send-digits", why: "a flash has no sound")
            }
            guard isReady else { throw CallControlError.wrongState(operation: "send-digits", why: "the call has ended") }
            if asSound { startSound(of: digit, options) } else { startEvent(of: digit, options) }
            let waiter = Waiter<Bool>()
            keyWaiter = waiter
            defer { keyWaiter = nil }
            guard try await waiter.wait() else {
                throw CallControlError.wrongState(
                    operation: "send-digits", why: codec.isCoded ? "the call has ended" : codec.notEncoded)
            }
        }
    }

    private func stopSendingDigits() {
        isSendingDigits = false
        sendsSecretKeys = false
        keySound = nil
        eventSender?.release()
    }

    /// Hz of the keys that we send as events; nil: none can be.
    var sendEventClock: UInt32? { negotiation.agreement?.sendEvents?.clockRate }

    /// A key that lasts so long, or until it is released; as sound, which a flash has not, it is short then.
    func sendRelayed(_ digit: Digit, for duration: Duration?) {
        if canSendEvents {
            startEvent(of: digit, SendDigitsOptions(duration: duration ?? .seconds(8), gap: .zero))
        } else if codec.isCoded, digit != .flash {
            startSound(of: digit, SendDigitsOptions(duration: duration ?? SendDigitsOptions().duration))
        }
    }

    private func startEvent(of digit: Digit, _ options: SendDigitsOptions) {
        let clock = sendEventClock ?? 8000
        let unitsPerTick = clock * UInt32(packetTime) / 1000
        var sender = eventSender ?? TelephoneEventSender(unitsPerTick: unitsPerTick)
        // A press that was cancelled may still be in its end packets.
        if !sender.isIdle || sender.unitsPerTick != unitsPerTick { sender = TelephoneEventSender(unitsPerTick: unitsPerTick) }
        let duration = max(Duration.milliseconds(40), min(options.duration, .seconds(8)))
        sender.start(
            code: digit.eventCode, duration: units(of: duration, clock),
            gap: units(of: max(.zero, min(options.gap, .seconds(8))), clock))
        eventSender = sender
    }

    private func units(of duration: Duration, _ clock: UInt32) -> UInt32 {
        UInt32(duration.nanoseconds * Int64(clock) / 1_000_000_000)
    }

    private func startSound(of digit: Digit, _ options: SendDigitsOptions) {
        let timing = DTMFTones.Timing(on: max(.milliseconds(40), options.duration), off: options.gap)
        let clip = DTMFTones.clip(CollectionOfOne(digit.character.asciiValue ?? 0), rate: codec.sampleRate, timing: timing)
        keySound = KeySound(clip: clip, prompt: EncodedPrompt(clip, codec: codec, packetTime: packetTime))
    }

    /// The codec or the packet time, which was `before` in milliseconds, has changed: the sound goes on in the new one.
    func changeKeySound(packetTime before: Int) {
        guard let sound = keySound else { return }
        let rest = sound.clip.part(from: .milliseconds(sound.packet * before), until: nil)
        guard codec.isCoded, !rest.samples.isEmpty else {
            keySound = nil
            keyWaiter?.resume(returning: codec.isCoded)
            return
        }
        keySound = KeySound(clip: rest, prompt: EncodedPrompt(rest, codec: codec, packetTime: packetTime))
    }

    /// The event packet of this tick; false when there is none and audio may be sent. Audio is not sent while a key is down.
    func sendEvent() -> Bool {
        if bridge != nil { followForwarded() }
        // Where the event's clock is another one than the audio's, only its durations are: one stream has one timestamp.
        let packet = eventSender!.next(timestamp: stream.timestamp)
        if eventSender!.isIdle {
            eventSender = nil
            keyWaiter?.resume(returning: true)
        }
        guard let packet else { return false }
        guard maySend, let sendEventPayload else { return true }
        let header = stream.header(
            payloadType: sendEventPayload, marker: packet.marker, timestamp: packet.timestamp, octets: TelephoneEventPayload.size)
        withUnsafeTemporaryAllocation(byteCount: TelephoneEventPayload.size, alignment: 4) { bytes in
            packet.payload.write(to: bytes)
            transmit(header, UnsafeRawBufferPointer(bytes))
        }
        return true
    }
}
