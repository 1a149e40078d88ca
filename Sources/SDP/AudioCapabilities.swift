// What our side can do in one audio stream, and what both sides agreed on: the input and the output of offer/answer.

package import Basics

/// An encoding as descriptions name it. What it sounds like is no matter of this module.
package struct AudioCodec: Hashable, Sendable {
    /// The encoding name of the rtpmap; compared without regard to case.
    package var name: String
    /// The RTP clock in Hz (8000 for G.722, RFC 3551 section 4.5.2).
    package var clockRate: UInt32
    package var channels: UInt8
    /// The number that RFC 3551 fixes; nil: dynamic, 96 to 127.
    package var staticPayload: UInt8?
    /// Our fmtp, nil for none.
    package var parameters: String?

    package init(
        name: String, clockRate: UInt32, channels: UInt8 = 1, staticPayload: UInt8? = nil, parameters: String? = nil
    ) {
        self.name = name
        self.clockRate = clockRate
        self.channels = channels
        self.staticPayload = staticPayload
        self.parameters = parameters
    }

    package static let pcmu = AudioCodec(name: "PCMU", clockRate: 8000, staticPayload: 0)
    package static let pcma = AudioCodec(name: "PCMA", clockRate: 8000, staticPayload: 8)
    package static let g722 = AudioCodec(name: "G722", clockRate: 8000, staticPayload: 9)
    /// Without the frames of pauses of its annex B (RFC 4856 section 2.1.9): not every device that it is passed on to knows them.
    package static let g729 = AudioCodec(name: "G729", clockRate: 8000, staticPayload: 18, parameters: "annexb=no")
    package static let opus = AudioCodec(name: "opus", clockRate: 48000, channels: 2, parameters: "useinbandfec=1")

    /// Linear samples of 16 bits at 8000 or 16,000 Hz.
    package static func l16(rate: UInt32) -> AudioCodec { AudioCodec(name: "L16", clockRate: rate) }

    /// Comfort noise (RFC 3389) beside codecs with a clock of 8000 Hz.
    static let comfortNoise = AudioCodec(name: "CN", clockRate: 8000, staticPayload: 13)

    static let telephoneEventName = "telephone-event"

    static func telephoneEvent(clockRate: UInt32) -> AudioCodec {
        AudioCodec(name: telephoneEventName, clockRate: clockRate, parameters: "0-16")
    }

    var isTelephoneEvent: Bool { name == Self.telephoneEventName }

    /// The same encoding; fmtp aside.
    func matches(_ map: MapField) -> Bool {
        guard map.name.equals(ignoringCase: name) else { return false }
        // Opus is 48000/2 whatever is written (RFC 7587 section 7); devices leave the channels out.
        if map.clockRate == 48000, sameName(name, "opus") { return clockRate == 48000 }
        // G.722 with its true sampling rate in the rtpmap is an old mistake.
        if staticPayload == 9, map.payload == 9 { return true }
        return map.clockRate == clockRate && map.channels == channels
    }

    func isSameEncoding(as other: AudioCodec) -> Bool {
        sameName(name, other.name) && clockRate == other.clockRate && channels == other.channels
    }
}

/// Compares encoding names: ASCII, without regard to case.
func sameName(_ left: String, _ right: String) -> Bool {
    if left == right { return true }
    guard left.utf8.count == right.utf8.count else { return false }
    var rest = right.utf8.makeIterator()
    for octet in left.utf8 where rest.next().map(lower) != lower(octet) { return false }
    return true
}

func lower(_ byte: UInt8) -> UInt8 {
    byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
}

/// Whether pauses are told by comfort noise (RFC 3389) where they would be sent as silence. It is taken whenever it comes.
package enum ComfortNoisePolicy: String, Sendable, CaseIterable {
    /// Never.
    case off
    /// Where the other side offers it.
    case accepted
    /// Our offers have it, too: the other side may leave its pauses out.
    case offered
}

/// What our side can do. An object, since all sessions with the same settings share it.
package final class AudioCapabilities: Sendable {
    package enum Preference: Equatable, Sendable {
        /// The first codec of their offer that we have (RFC 3264 section 6.1).
        case theirs
        /// The first of our codecs that they offer.
        case ours
    }

    /// In our order of preference; at least one.
    package let codecs: [AudioCodec]
    /// Whose order decides when we answer.
    package let preference: Preference
    /// telephone-event (RFC 4733) at each clock of `codecs`, and at 8000 Hz.
    package let telephoneEvents: Bool
    package let comfortNoise: ComfortNoisePolicy
    /// a=ptime of our offers, in milliseconds: 10 to 60.
    package let packetTime: Int
    /// Offer RTP and RTCP on one port. An offer of it is always accepted.
    package let offersRTCPMux: Bool
    /// What a first offer holds, and its text: the same for every session.
    let formats: [AudioFormat]
    let formatList: [UInt8]
    let formatLines: [UInt8]

    package init(
        codecs: [AudioCodec], preference: Preference = .theirs, telephoneEvents: Bool = true,
        comfortNoise: ComfortNoisePolicy = .off, packetTime: Int = 20,
        offersRTCPMux: Bool = false
    ) {
        precondition(!codecs.isEmpty, "a stream needs a codec")
        self.codecs = codecs
        self.preference = preference
        self.telephoneEvents = telephoneEvents
        self.comfortNoise = comfortNoise
        self.packetTime = packetTime
        self.offersRTCPMux = offersRTCPMux
        var numbers = PayloadNumbers()
        formats = numbers.offer(codecs, comfortNoise: comfortNoise == .offered, telephoneEvents: telephoneEvents)
        var (list, lines) = (DescriptionWriter(), DescriptionWriter())
        list.append(listOf: formats)
        lines.append(linesOf: formats)
        (formatList, formatLines) = (list.octets, lines.octets)
    }

    /// The same with some of its codecs only; nil when none is left.
    package func only(_ isKept: (AudioCodec) -> Bool) -> AudioCapabilities? {
        let kept = codecs.filter(isKept)
        guard !kept.isEmpty else { return nil }
        return AudioCapabilities(
            codecs: kept, preference: preference, telephoneEvents: telephoneEvents, comfortNoise: comfortNoise,
            packetTime: packetTime, offersRTCPMux: offersRTCPMux)
    }
}

/// A payload number and the encoding that it stands for.
package struct AudioFormat: Equatable, Sendable {
    package var payload: UInt8
    package var codec: AudioCodec

    package var isTelephoneEvent: Bool { codec.isTelephoneEvent }
    package var isComfortNoise: Bool { codec == .comfortNoise }

    package init(payload: UInt8, codec: AudioCodec) {
        self.payload = payload
        self.codec = codec
    }

    static let comfortNoise = AudioFormat(payload: 13, codec: .comfortNoise)

    init(_ events: TelephoneEventFormat) {
        self.init(payload: events.payload, codec: .telephoneEvent(clockRate: events.clockRate))
    }
}

/// A payload number of telephone-event and its clock, the unit of its durations.
package struct TelephoneEventFormat: Equatable, Sendable {
    package var payload: UInt8
    /// Hz. It differs from the codec's clock when only another one was offered (8000 beside a 16000 Hz codec): still used.
    package var clockRate: UInt32

    /// Hz: an event has the clock of some audio (RFC 4733 section 2.1).
    package static let clockRates: ClosedRange<UInt32> = 8000...48_000

    package init(payload: UInt8, clockRate: UInt32) {
        self.payload = payload
        self.clockRate = clockRate
    }
}

/// What an exchange agreed on for the audio stream.
package struct AudioAgreement: Equatable, Sendable {
    /// What may arrive, with the numbers that it may arrive under: what we send first, comfort noise and telephone-event last. A peer
    /// that uses its own number instead of ours is understood as well.
    package var formats: [AudioFormat]
    /// The number to send it with: theirs.
    package var sendPayload: UInt8
    /// The fmtp that they gave for it: how they want to receive it.
    package var remoteParameters: String?
    /// nil: they take no telephone-event.
    package var sendEvents: TelephoneEventFormat?
    /// Milliseconds a packet that we send: what they asked for within 10 to 60, else our own.
    package var packetTime: Int
    /// Milliseconds that a packet to them may hold (a=maxptime); nil: they said nothing.
    package var maximumPacketTime: Int?
    /// Where our RTP goes. `0.0.0.0` or `::` (old-style hold, RFC 3264 section 8.4): nowhere.
    package var remote: SocketAddress
    /// Where our RTCP goes, when it isn't multiplexed.
    package var remoteRTCP: SocketAddress
    package var rtcpMux: Bool
    /// False: they asked for no RTCP (b=RS:0 and b=RR:0, RFC 3556).
    package var rtcpWanted: Bool
    /// Seen from us: `sends` tells whether we may send media. Never `sends` when `remote` is unspecified.
    package var direction: MediaDirection
    /// They put us on hold: they don't take our media (sendonly, inactive, or the unspecified address).
    package var heldByRemote: Bool
    /// We put them on hold: our last wish was not to receive.
    package var heldByLocal: Bool
    /// Which m= it is, from 0.
    package var mediaIndex: Int
    /// The keys of an encrypted stream; nil: it is plain.
    package var secure: SecureAgreement?

    /// What we send.
    package var codec: AudioCodec { formats[0].codec }
    /// The audio that may arrive, `codec` first.
    package var receiveFormats: [AudioFormat] { formats.filter { !$0.isTelephoneEvent && !$0.isComfortNoise } }
    /// Both sides may leave pauses out, and tell them with payload 13 (RFC 3389).
    package var hasComfortNoise: Bool { formats.contains { $0.isComfortNoise } }
    /// The keys that may arrive.
    package var receiveEvents: [TelephoneEventFormat] {
        formats.compactMap {
            $0.isTelephoneEvent ? TelephoneEventFormat(payload: $0.payload, clockRate: $0.codec.clockRate) : nil
        }
    }
}
