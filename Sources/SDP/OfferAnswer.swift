// Offer/answer (RFC 3264, RFC 6337) for a session with one audio stream, as a value: descriptions in, octets and an agreement out.
// Copy it for each early dialog of a forked call. It does no DTLS and no ICE: descriptions that demand one are refused.
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
    /// Only protos that we don't speak (DTLS), or SRTP although it is off.
    case unsupportedTransport
    /// It is not encrypted, and has to be.
    case securityRequired
    /// SRTP without an a=crypto that can be used.
    case noCommonSuite
    /// No address, a host name, or a multicast group.
    case noUsableAddress
    /// Another address family than that of `local`.
    case otherFamily
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
    /// Those of the next offer or answer.
    package var capabilities: AudioCapabilities
    /// Where we take RTP. A change is told with the next offer or answer.
    package var local: SocketAddress
    /// nil: the port after `local`'s (RFC 3550 section 11); told with a=rtcp otherwise.
    package var localRTCPPort: UInt16?
    /// What we wish: sendonly or inactive puts the other side on hold with the next offer or answer.
    package var wantedDirection = MediaDirection.sendrecv

    /// What holds; nil before the first exchange.
    package private(set) var agreement: AudioAgreement?
    /// Our last description, sent or to be sent. Its m= lines tell the session's, whose number and order never change (RFC 3264
    /// section 8).
    package private(set) var localDescription: [UInt8]?
    /// Whether our offer waits for its answer.
    package private(set) var isOffering = false

    let sessionID: UInt64
    private(set) var version: UInt64
    private var payloads = PayloadNumbers()
    /// Which m= is our audio, and its proto.
    private(set) var audioSlot: Int?
    private(set) var transport = "RTP/AVP"
    /// What our last offer said: the numbers under which media may come, even before the answer.
    package private(set) var offeredFormats: [AudioFormat] = []
    private(set) var offeredMux = false
    /// Keys and what our last offer said of them.
    private(set) var secure: SecureMedia
    private var ownLastOffer = false

    /// `sessionID` is put into o=, and its version starts there too: any number below 2^62, unique to the session.
    package init(
        capabilities: AudioCapabilities, local: SocketAddress, sessionID: UInt64, security: MediaSecurity = .off
    ) {
        precondition(!local.ip.isUnspecified, "descriptions carry a real address")
        self.capabilities = capabilities
        self.local = local
        self.sessionID = sessionID
        secure = SecureMedia(policy: security)
        version = sessionID
    }

    // MARK: Our offer

    /// An offer to send: the first, the one of a 200 to an INVITE without one, a hold, a change.
    package mutating func makeOffer() -> [UInt8] {
        precondition(!isOffering, "one offer at a time (RFC 3264 section 4)")
        isOffering = true
        if offeredFormats.isEmpty, payloads.isEmpty {
            offeredFormats = capabilities.formats
        } else {
            payloads.keep(offeredFormats)
            offeredFormats = payloads.offer(
                capabilities.codecs,
                comfortNoise: agreement?.hasComfortNoise ?? false || capabilities.comfortNoise == .offered,
                telephoneEvents: capabilities.telephoneEvents)
        }
        offeredMux = agreement?.rtcpMux ?? capabilities.offersRTCPMux
        if audioSlot == nil { audioSlot = 0 }
        let isSecure = agreement.map { $0.secure != nil } ?? secure.policy.isOffered
        if isSecure { secure.makeOffer(inUse: agreement?.secure?.suite) } else { secure.offerPlain() }
        setTransport(isSecure: isSecure)
        var offer = writeOffer()
        if isChange(offer) {
            version += 1
            offer = writeOffer()
        }
        localDescription = offer
        return offer
    }

    /// Our offer was refused or failed: what was agreed before it holds on (RFC 3261 section 14.1).
    package mutating func offerFailed() {
        isOffering = false
        ownLastOffer = false
    }

    /// Another far side takes the place of the one so far: an offer that is open counts no more, and it gets keys of its own. With ours
    /// the one that goes could read on, and the new one does not know how often our sequence number has wrapped.
    package mutating func changeFarSide() {
        offerFailed()
        secure.forgetKeys()
    }

    /// An offer with another address and another key may be of somebody who does not know how often our sequence number has wrapped: what we
    /// send there begins anew, for which it needs a new key (RFC 4568 section 7.1.4).
    private func movesToAnother(_ found: Accepted) -> Bool {
        guard let agreement, let former = agreement.secure, let crypto = found.crypto else { return false }
        let (from, to) = (agreement.remote, found.agreement.remote)
        return crypto.key != former.remoteKey && from != to && !from.ip.isUnspecified && !to.ip.isUnspecified
    }

    /// Whether our offer asks for encryption and may be made again without it: `offered`, and nothing is agreed yet.
    package var mayOfferPlain: Bool { agreement == nil && secure.policy == .offered && !secure.lines.isEmpty }

    /// Our first offer was refused since it is encrypted: the next one is plain. Only when `mayOfferPlain`.
    package mutating func offerPlainNext() {
        precondition(mayOfferPlain)
        offerFailed()
        secure.policy = .accepted
    }

    /// The proto of our line stays what it is as long as it says the truth (`RTP/SAVPF` of their offer, say).
    private mutating func setTransport(isSecure: Bool) {
        let wasSecure = transport != "RTP/AVP" && transport.uppercased().hasPrefix("RTP/SAVP")
        guard wasSecure != isSecure else { return }
        transport = isSecure ? "RTP/SAVP" : "RTP/AVP"
    }

    /// Takes the answer to our offer. A second answer to the same offer is taken as well (183, then a different 200).
    package mutating func receive(answer: SessionDescription) throws(OfferAnswerError) {
        guard isOffering || ownLastOffer, let audioSlot else { throw .unexpected }
        let found = try read(answer: answer, slot: audioSlot)
        secure.replaced(agreement?.secure, by: found.secure)
        setTransport(isSecure: found.secure != nil)
        agreement = found
        isOffering = false
        ownLastOffer = true
        payloads.remember(found.formats)
    }

    // MARK: Their offer

    /// Answers an offer and makes its agreement the one that holds. On an error nothing has changed.
    package mutating func answer(to offer: SessionDescription) throws(OfferAnswerError) -> [UInt8] {
        guard !isOffering else { throw .glare }
        var found = try read(offer: offer)
        if movesToAnother(found) { secure.forgetKeys() }
        found.agreement.secure = found.crypto.map { secure.accept($0) }
        secure.replaced(agreement?.secure, by: found.agreement.secure)
        agreement = found.agreement
        audioSlot = found.agreement.mediaIndex
        transport = found.transport
        ownLastOffer = false
        payloads.remember(found.agreement.formats)
        var answer = writeAnswer(to: offer, found.agreement)
        if isChange(answer) {
            version += 1
            answer = writeAnswer(to: offer, found.agreement)
        }
        localDescription = answer
        return answer
    }

    /// Whether an offer would be accepted now; nothing changes. For the choice between 200 and 488 before the answer is due.
    package func refusal(of offer: SessionDescription) -> OfferAnswerError? {
        guard !isOffering else { return .glare }
        do throws(OfferAnswerError) {
            _ = try read(offer: offer)
            return nil
        } catch {
            return error
        }
    }

    /// The version rises exactly when the body differs from the last one that was sent, accepted or not (RFC 3264 section 8).
    private func isChange(_ description: [UInt8]) -> Bool { localDescription.map { $0 != description } ?? false }
}

/// The numbers that encodings got so far. A number once used for an encoding is not given to another one
/// (RFC 3264 section 8.3.2).
struct PayloadNumbers: Sendable {
    /// The latest first.
    private var known: [AudioFormat] = []
    /// 96 to 127, the usual number of telephone-event last.
    private static let dynamic = (UInt8(96)...127).filter { $0 != 101 } + [101]

    var isEmpty: Bool { known.isEmpty }

    /// What an exchange agreed on.
    mutating func remember(_ formats: [AudioFormat]) {
        known = known.isEmpty ? formats : formats + known.filter { !formats.contains($0) }
    }

    /// What was offered, too: less than what was agreed on since.
    mutating func keep(_ formats: [AudioFormat]) {
        for format in formats where !known.contains(format) { known.append(format) }
    }

    /// An offer of these, each with its number.
    mutating func offer(_ codecs: [AudioCodec], comfortNoise: Bool, telephoneEvents: Bool) -> [AudioFormat] {
        var offer: [AudioFormat] = []
        for codec in codecs { add(codec, to: &offer) }
        if comfortNoise, codecs.contains(where: { $0.clockRate == 8000 }) { add(.comfortNoise, to: &offer) }
        guard telephoneEvents else { return offer }
        // At the codecs' clocks, and at 8000 Hz.
        for clock in codecs.map(\.clockRate) + [8000] where !offer.contains(where: { $0.isTelephoneEvent(at: clock) }) {
            add(.telephoneEvent(clockRate: clock), to: &offer)
        }
        return offer
    }

    private mutating func add(_ codec: AudioCodec, to offer: inout [AudioFormat]) {
        let format = AudioFormat(payload: number(for: codec, beside: offer), codec: codec)
        offer.append(format)
        keep([format])
    }

    /// The number for an encoding, beside those that the same offer uses already.
    private func number(for codec: AudioCodec, beside taken: [AudioFormat]) -> UInt8 {
        let isFree = { (number: UInt8) in !taken.contains { $0.payload == number } }
        if let latest = known.first(where: { $0.codec.isSameEncoding(as: codec) })?.payload, isFree(latest) { return latest }
        if let number = codec.staticPayload { return number }
        let isUnused = { (number: UInt8) in isFree(number) && !known.contains { $0.payload == number } }
        // Many devices expect telephone-event at 101 and nothing else there.
        if codec.isTelephoneEvent, codec.clockRate == 8000, isUnused(101) { return 101 }
        return Self.dynamic.first(where: isUnused) ?? Self.dynamic.first(where: isFree) ?? 127
    }
}

extension AudioFormat {
    func isTelephoneEvent(at clockRate: UInt32) -> Bool { isTelephoneEvent && codec.clockRate == clockRate }
}
