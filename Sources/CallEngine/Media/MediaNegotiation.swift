// Descriptions of a media session: offers and answers as octets, and what an agreement means for the stream.

import Audio
import Basics
import RTP
import Reactor
package import SDP

extension MediaSession {
    /// Our wish for the next offer or answer; `sendonly` or `inactive` puts the far side on hold.
    package var wantedDirection: MediaDirection {
        get { negotiation.wantedDirection }
        set { negotiation.wantedDirection = newValue }
    }

    /// An offer to send, as SDP octets.
    package func makeOffer() -> [UInt8] { negotiation.makeOffer() }

    /// Answers an offer with SDP octets; on an error nothing has changed.
    package func answer(_ offer: ArraySlice<UInt8>) throws(MediaError) -> [UInt8] {
        let description = try parse(offer)
        let answer: [UInt8]
        let all = negotiation.capabilities
        if let other = bridge?.other.codec, all.codecs.contains(.g729) {
            // What cannot be made of the other leg's codec would leave both sides in silence (RFC 3261 section 14.2: all stays as it is).
            guard let fitting = all.only({ ($0 == .g729) != other.isCoded }) else { throw .noCommonCodec }
            negotiation.capabilities = fitting
        }
        defer { negotiation.capabilities = all }
        do throws(OfferAnswerError) {
            answer = try takeOffer(description)
        } catch {
            throw MediaError(error)
        }
        adopt()
        return answer
    }

    /// Audio may be of another address family than the signaling, where the sockets take both.
    private func takeOffer(_ offer: SessionDescription) throws(OfferAnswerError) -> [UInt8] {
        do throws(OfferAnswerError) {
            return try negotiation.answer(to: offer)
        } catch .otherFamily where services.bindTo == .any6 {
            let theirs = offer.media.lazy.filter { $0.kind == "audio" }.compactMap { offer.address(of: $0) }.first
            guard let theirs, let ours = services.localIP(theirs) else { throw .otherFamily }
            var changed = negotiation
            changed.local.ip = ours
            let answer = try changed.answer(to: offer)
            negotiation = changed
            return answer
        }
    }

    /// Takes the answer to our offer; a second one (forked, or 183 and then 200) replaces the first.
    package func receive(answer: ArraySlice<UInt8>) throws(MediaError) {
        let description = try parse(answer)
        do throws(OfferAnswerError) {
            try negotiation.receive(answer: description)
        } catch {
            throw MediaError(error)
        }
        adopt()
        begin()
    }

    /// Our offer was refused: what was agreed before it holds on.
    package func offerFailed() { negotiation.offerFailed() }

    /// A plain offer after our encrypted one was refused; nil where that may not be, or ours was plain.
    package func makePlainOffer() -> [UInt8]? {
        guard negotiation.mayOfferPlain else { return nil }
        negotiation.offerPlainNext()
        return negotiation.makeOffer()
    }

    /// Whether an offer and an answer made a stream.
    package var isReady: Bool { latch != nil && !isClosed }

    /// `PCMU/8000`; empty before.
    package var codecName: String {
        latch == nil ? "" : codec.description
    }

    package var isHeldByRemote: Bool { negotiation.agreement?.heldByRemote ?? false }

    /// telephone-event was negotiated.
    package var canSendEvents: Bool { sendEventPayload != nil }

    private func parse(_ octets: ArraySlice<UInt8>) throws(MediaError) -> SessionDescription {
        do throws(SDPError) {
            return try SessionDescription(parsing: octets)
        } catch {
            throw .malformed("line \(error.line): \(error.reason)")
        }
    }

    // MARK: What was agreed

    /// Makes the agreement the stream's.
    private func adopt() {
        guard let agreement = negotiation.agreement, !isClosed else { return }
        receivable = PayloadSet()
        eventPayloads = PayloadSet()
        audioPayloads.removeAll()
        heardPayload = .max
        adoptCodec(agreement)
        // Comfort noise comes from devices that agreed on it with nobody.
        if codec.clockRate == 8000 { receivable.insert(ComfortNoise.payloadType) }
        for format in agreement.formats {
            receivable.insert(format.payload)
            if format.isTelephoneEvent {
                eventPayloads.insert(format.payload)
            } else if let other = Audio.AudioCodec(format.codec), !other.isSameEncoding(as: codec) {
                audioPayloads.append((format.payload, other))
            }
        }
        adoptEvents(agreement)
        comfortNoise = agreement.hasComfortNoise ? comfortNoise ?? ComfortNoiseSender() : nil
        adoptSecurity(agreement)
        // A refresh does not bring media that is missing.
        let mayBeQuiet = !expectsMedia || latch?.signaled != agreement.remote
        reopenLatch(agreement)
        maySend = agreement.direction.sends && !agreement.remote.ip.isUnspecified && agreement.remote.port != 0
        expectsMedia = agreement.direction.receives && !agreement.heldByRemote
        if mayBeQuiet { lastHeard = loop.now }
    }

    func reopenLatch(_ agreement: AudioAgreement) {
        if latch == nil {
            latch = SourceLatch(
                signaled: agreement.remote, payloads: receivable, signalingIP: settings.signalingIP, at: loop.now)
        } else {
            latch?.exchange(signaled: agreement.remote, payloads: receivable, at: loop.now)
        }
        unsettle()
    }

    private func adoptEvents(_ agreement: AudioAgreement) {
        sendEventPayload = agreement.sendEvents?.payload
        let formats = agreement.receiveEvents
        if !formats.contains(where: { $0.clockRate == reception?.events?.clockRate }) {
            endOpenKey()
            reception?.events = nil
        }
        eventFormats = formats
        // Keys may come as sound only where there is no better way.
        wantsInband = formats.isEmpty && codec.isCoded
        if !wantsInband { endInband() }
    }

    private func adoptCodec(_ agreement: AudioAgreement) {
        // The capabilities hold only codecs that are built.
        let agreed = Audio.AudioCodec(agreement.codec, wished: agreement.remoteParameters) ?? .pcmu
        let time = agreed.packetTime(atMost: agreement.packetTime)
        mostUnits =
            agreement.maximumPacketTime.map { max(Int(agreed.ticks(inMilliseconds: time)), agreed.clockRate * $0 / 1000) } ?? .max
        sendPayload = agreement.sendPayload
        reception?.statistics.change(clockRate: UInt32(agreed.clockRate))
        guard agreed != codec || time != packetTime else { return }
        stream.changeClock(from: UInt32(codec.clockRate), to: UInt32(agreed.clockRate))
        codec = agreed
        let before = packetTime
        packetTime = time
        silence = services.silence(codec, packetTime: time)
        silencePacket = 0
        seam = codec == .g722 ? seam ?? G722Seam() : nil
        unitsPerTick = agreed.ticks(inMilliseconds: time)
        clockPeriod = time / MediaClock.sliceMilliseconds
        if eventSender?.isIdle == true { eventSender = nil }
        changeKeySound(packetTime: before)
        if mixer == nil { player?.change(codec: agreed, packetTime: time, from: services.prompts) } else { changeMixer() }
        seam?.begins(.conference)
        if agreed.isCoded { conference?.change(codec: agreed, packetTime: time) } else { conference?.leave() }
    }
}

extension MediaSettings {
    /// The codecs that settings name.
    package static let knownCodecs = ["opus", "g722", "pcmu", "pcma", "l16", "g729"]

    /// What descriptions call the codecs of the settings, in their order; what is not known is left out.
    var encodings: [SDP.AudioCodec] {
        codecs.flatMap { name -> [SDP.AudioCodec] in
            switch name {
            case "pcmu": [.pcmu]
            case "pcma": [.pcma]
            case "g722": [.g722]
            case "g729": [.g729]
            case "opus": [.opus]
            case "l16": [.l16(rate: 16000), .l16(rate: 8000)]
            default: []
            }
        }
    }
}

extension Audio.AudioCodec {
    /// What an encoding of a description sounds like; nil when it is not built. `wished` is the fmtp of the side that receives it.
    init?(_ encoding: SDP.AudioCodec, wished: String? = nil) {
        self.init(name: encoding.name, clockRate: Int(encoding.clockRate))
        if case .opus = self { self = .opus(OpusParameters(format: wished)) }
    }
}
