// Offer/answer (RFC 3264, RFC 6337) for a session with one audio stream, as a value: descriptions in, descriptions and an
// agreement out. Copy it for each early dialog of a forked call. It does no SRTP and no ICE yet: descriptions that demand one
// are refused; what a later part needs of them is in `remoteDescription`.
//
//   state        event                 next
//   idle         makeOffer             offered          idle = nothing agreed; stable = an agreement holds
//   idle         answer(to:)           stable
//   offered      receive(answer:)      stable           an unusable answer throws and leaves the state: another may follow
//   offered      offerFailed           idle or stable   the agreement before it holds on
//   offered      answer(to:)           throws glare     (491)
//   stable       makeOffer             offered
//   stable       answer(to:)           stable           a refused offer throws and leaves everything as it was (488)
//   stable       receive(answer:)      stable           when ours was the last offer (183, then 200), else throws unexpected

package import Basics

/// Why a description leads to no stream. `glare` is answered 491, `unexpected` is ignored, the others are 488.
package enum OfferAnswerError: Error, Equatable, Sendable, CaseIterable {
    /// No m=audio.
    case noAudio
    /// m=audio with port 0.
    case audioRejected
    /// Only protos that we don't speak (SRTP and DTLS for now).
    case unsupportedTransport
    /// No address, a host name, a multicast group, or another address family than ours.
    case noUsableAddress
    /// No audio codec in common (telephone-event is none).
    case noCommonCodec
    /// An answer with fewer m= than the offer has.
    case badAnswer
    /// An offer while ours waits for its answer.
    case glare
    /// An answer to nothing.
    case unexpected
}

package struct OfferAnswer: Sendable {
    /// An m= of the session, kept for further offers: their number and order never change (RFC 3264 section 8).
    struct Slot: Sendable {
        var kind: String
        var transport: String
        var formats: [String]
    }

    package var capabilities: AudioCapabilities
    /// Where we take RTP. A change is told with the next offer or answer.
    package var local: SocketAddress
    /// nil: the port after `local`'s (RFC 3550 section 11); told with a=rtcp otherwise.
    package var localRTCPPort: UInt16?
    /// What we wish: sendonly or inactive puts the other side on hold with the next offer or answer.
    package var wantedDirection = MediaDirection.sendrecv

    /// What holds; nil before the first exchange.
    package private(set) var agreement: AudioAgreement?
    /// Their last accepted description.
    package private(set) var remoteDescription: SessionDescription?
    /// Our last description, sent or to be sent.
    package private(set) var localDescription: SessionDescription?
    /// Whether our offer waits for its answer.
    package private(set) var isOffering = false

    let sessionID: UInt64
    var version: UInt64
    var payloads = PayloadNumbers()
    var slots: [Slot] = []
    var audioSlot: Int?
    /// What our offer said: the numbers under which media may come, even before the answer.
    package internal(set) var offeredFormats: [AudioFormat] = []
    private var ownLastOffer = false

    /// `sessionID` is put into o=, and its version starts there too: any number below 2^62, unique to the session.
    package init(capabilities: AudioCapabilities, local: SocketAddress, sessionID: UInt64) {
        precondition(!local.ip.isUnspecified, "descriptions carry a real address")
        self.capabilities = capabilities
        self.local = local
        self.sessionID = sessionID
        version = sessionID
    }

    // MARK: Our offer

    /// An offer to send: the first, the one of a 200 to an INVITE without one, a hold, a change.
    package mutating func makeOffer() -> SessionDescription {
        precondition(!isOffering, "one offer at a time (RFC 3264 section 4)")
        isOffering = true
        return publish(offerMedia())
    }

    /// Our offer was refused or failed: what was agreed before it holds on (RFC 3261 section 14.1).
    package mutating func offerFailed() {
        isOffering = false
        ownLastOffer = false
    }

    /// Takes the answer to our offer. A second answer to the same offer is taken as well (183, then a different 200).
    package mutating func receive(answer: SessionDescription) throws(OfferAnswerError) {
        guard isOffering || ownLastOffer, let offer = localDescription, let slot = audioSlot else { throw .unexpected }
        guard answer.media.count > slot, sameName(answer.media[slot].kind, "audio") else {
            throw answer.media.contains { $0.kind == "audio" } ? .badAnswer : .noAudio
        }
        let found = try readAnswer(answer, slot: slot, offer: offer.media[slot])
        agreement = found
        remoteDescription = answer
        isOffering = false
        ownLastOffer = true
        for format in found.receiveFormats.reversed() { payloads.remember(format) }
    }

    // MARK: Their offer

    /// Answers an offer and makes its agreement the one that holds. On an error nothing has changed.
    package mutating func answer(to offer: SessionDescription) throws(OfferAnswerError) -> SessionDescription {
        guard !isOffering else { throw .glare }
        let found = try readOffer(offer)
        slots = offer.media.map { Slot(kind: $0.kind, transport: $0.transport, formats: $0.formats) }
        audioSlot = found.agreement.mediaIndex
        agreement = found.agreement
        remoteDescription = offer
        ownLastOffer = false
        for format in found.numbers { payloads.remember(format) }
        return publish(found.media)
    }

    /// Whether an offer would be accepted now; nothing changes. For the choice between 200 and 488 before the answer is due.
    package func refusal(of offer: SessionDescription) -> OfferAnswerError? {
        guard !isOffering else { return .glare }
        do throws(OfferAnswerError) {
            _ = try readOffer(offer)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Our description

    /// Puts the session part around `media`. The version rises exactly when the body differs from the last one that was sent,
    /// accepted or not (RFC 3264 section 8).
    private mutating func publish(_ media: [MediaDescription]) -> SessionDescription {
        let connection =
            localDescription?.connection.flatMap { $0.address == local.ip ? $0 : nil } ?? ConnectionData(address: local.ip)
        var description = SessionDescription(connection: connection, media: media)
        if let last = localDescription {
            description.origin = last.origin
            if description == last { return last }
            version += 1
        }
        description.origin = Origin(sessionID: sessionID, version: version, connection: connection)
        localDescription = description
        return description
    }
}

/// The numbers that encodings got in this session. A number once used for an encoding is not given to another one
/// (RFC 3264 section 8.3.2).
struct PayloadNumbers: Sendable {
    private var known: [AudioFormat] = []
    /// 96 to 127, the usual number of telephone-event last.
    private static let dynamic = (UInt8(96)...127).filter { $0 != 101 } + [101]

    /// The latest number of an encoding.
    func number(of codec: AudioCodec) -> UInt8? {
        known.last { $0.codec.isSameEncoding(as: codec) }?.payload
    }

    mutating func remember(_ format: AudioFormat) {
        known.removeAll { $0 == format }
        known.append(format)
    }

    /// The number for an offer, beside those that the same offer uses already.
    mutating func assign(_ codec: AudioCodec, beside taken: [AudioFormat]) -> UInt8 {
        if let number = number(of: codec), !taken.contains(where: { $0.payload == number }) { return number }
        if let number = codec.staticPayload { return number }
        let isFree = { (number: UInt8) in !taken.contains { $0.payload == number } }
        let isUnused = { [known] (number: UInt8) in isFree(number) && !known.contains { $0.payload == number } }
        // Many devices expect telephone-event at 101 and nothing else there.
        let usual = codec.isTelephoneEvent && codec.clockRate == 8000 ? [UInt8(101)] : []
        let number =
            usual.first(where: isUnused) ?? Self.dynamic.first(where: isUnused) ?? Self.dynamic.first(where: isFree) ?? 127
        remember(AudioFormat(payload: number, codec: codec))
        return number
    }
}
