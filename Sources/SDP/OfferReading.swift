// How their offers and answers become agreements: the choice of the stream, codec, numbers, packet time and direction.
// Part of OfferAnswer; nothing here changes it.

import Basics

extension OfferAnswer {
    struct Accepted {
        var agreement: AudioAgreement
        /// The proto of the line, as written.
        var transport: String
        /// Their a=crypto that we take; nil: the stream is plain.
        var crypto: CryptoAttribute?
    }

    /// Takes the audio line in use when it is still usable, else the first usable one (RFC 3264 section 5.1 lets an offer have
    /// several); the others are refused in place.
    func read(offer: SessionDescription) throws(OfferAnswerError) -> Accepted {
        try offer.read { (lines) throws(OfferAnswerError) in try readOffer(lines) }
    }

    private func readOffer(_ offer: DescriptionLines) throws(OfferAnswerError) -> Accepted {
        var refusal = OfferAnswerError.noAudio
        if let audioSlot, let found = firstUsable(offer, only: audioSlot, &refusal) { return found }
        // Of a plain and an encrypted line for the same audio the encrypted one is meant to be better.
        if secure.policy != .off, let found = firstUsable(offer, only: nil, isSecure: true, &refusal) { return found }
        if let found = firstUsable(offer, only: nil, &refusal) { return found }
        throw refusal
    }

    /// The first line that is audio and usable; the nearest miss is the reason that is told.
    private func firstUsable(
        _ offer: DescriptionLines, only: Int?, isSecure: Bool = false, _ refusal: inout OfferAnswerError
    ) -> Accepted? {
        var (place, index) = (0, 0)
        while let (theirs, end) = offer.medium(from: place) {
            defer { (place, index) = (end, index + 1) }
            let line = theirs.medium
            guard only == nil || only == index, line.isAudio, !isSecure || line.isSecure else { continue }
            do throws(OfferAnswerError) {
                return try accept(theirs, line, in: offer, index: index)
            } catch {
                if refusal == .noAudio || refusal == .audioRejected { refusal = error }
            }
        }
        return nil
    }

    private func accept(
        _ theirs: PartLines, _ line: MediumField, in offer: DescriptionLines, index: Int
    ) throws(OfferAnswerError) -> Accepted {
        guard line.port != 0 else { throw .audioRejected }
        let crypto = try crypto(of: theirs, line)
        let remote = try remoteAddress(of: theirs, line, in: offer)
        guard let chosen = choose(from: theirs, line) else { throw .noCommonCodec }
        let events = chooseEvents(from: theirs, line, clockRate: chosen.codec.clockRate)
        var formats = [chosen]
        if capabilities.comfortNoise != .off, hasComfortNoise(theirs, line, beside: chosen.codec) {
            formats.append(.comfortNoise)
        }
        if let events { formats.append(AudioFormat(events)) }
        let agreement = makeAgreement(
            theirs, in: offer, index: index, remote: remote, formats: formats,
            sendPayload: chosen.payload, events: events, mux: theirs.last(.rtcpMux) != nil)
        return Accepted(
            agreement: agreement, transport: line.transport.equals("RTP/AVP") ? "RTP/AVP" : line.transport.string, crypto: crypto)
    }

    /// The a=crypto of their offer that we take; nil for a plain stream where one may be.
    private func crypto(of theirs: PartLines, _ line: MediumField) throws(OfferAnswerError) -> CryptoAttribute? {
        if line.isPlain {
            guard secure.policy != .required else { throw .securityRequired }
            return nil
        }
        guard line.isSecure, secure.policy != .off else { throw .unsupportedTransport }
        guard let crypto = secure.choose(from: theirs) else { throw .noCommonSuite }
        return crypto
    }

    /// What their answer makes of our a=crypto lines; nil for a plain stream. One to an encrypted offer that is plain after all is taken
    /// where plain would do.
    private func secureAgreement(of theirs: PartLines, _ line: MediumField) throws(OfferAnswerError) -> SecureAgreement? {
        guard line.isPlain || line.isSecure, line.isPlain || !secure.lines.isEmpty else { throw .unsupportedTransport }
        if let agreed = secure.agree(on: theirs) { return agreed }
        if secure.lines.isEmpty { return nil }
        guard line.isPlain else { throw .noCommonSuite }
        guard secure.policy != .required else { throw .securityRequired }
        return nil
    }

    func read(answer: SessionDescription, slot: Int) throws(OfferAnswerError) -> AudioAgreement {
        try answer.read { (lines) throws(OfferAnswerError) in try readAnswer(lines, slot: slot) }
    }

    private func readAnswer(_ answer: DescriptionLines, slot: Int) throws(OfferAnswerError) -> AudioAgreement {
        var (place, index) = (0, 0)
        var hasAudio = false
        while let (theirs, end) = answer.medium(from: place) {
            let line = theirs.medium
            if line.isAudio {
                if index == slot { return try accept(answer: theirs, line, in: answer, index: index) }
                hasAudio = true
            }
            (place, index) = (end, index + 1)
        }
        throw hasAudio ? .badAnswer : .noAudio
    }

    private func accept(
        answer theirs: PartLines, _ line: MediumField, in answer: DescriptionLines, index: Int
    ) throws(OfferAnswerError) -> AudioAgreement {
        guard line.port != 0 else { throw .audioRejected }
        let agreed = try secureAgreement(of: theirs, line)
        let remote = try remoteAddress(of: theirs, line, in: answer)
        // They send with our numbers; some devices use their own, which is harmless to understand where it means nothing else.
        var formats: [AudioFormat] = []
        var foreign: [AudioFormat] = []
        var send: UInt8?
        eachFormat(of: theirs, line, offered: offeredFormats) { [offeredFormats] format in
            guard let ours = offeredFormats.first(where: { $0.codec.isSameEncoding(as: format.codec) }) else { return true }
            if send == nil { send = format.payload }
            formats.append(ours)
            if !offeredFormats.contains(where: { $0.payload == format.payload }) { foreign.append(format) }
            return true
        }
        guard let send else { throw .noCommonCodec }
        formats += foreign
        if offeredFormats.contains(.comfortNoise), hasComfortNoise(theirs, line, beside: formats[0].codec) {
            formats.append(.comfortNoise)
        }
        let events = chooseEvents(from: theirs, line, clockRate: formats[0].codec.clockRate)
        if let events {
            formats += offeredFormats.filter { format in
                format.isTelephoneEvent
                    && (events.clockRate == format.codec.clockRate || declaresEvents(theirs, at: format.codec.clockRate))
            }
            if !offeredFormats.contains(where: { $0.payload == events.payload }) { formats.append(AudioFormat(events)) }
        }
        var agreement = makeAgreement(
            theirs, in: answer, index: index, remote: remote, formats: formats, sendPayload: send, events: events,
            mux: offeredMux && theirs.last(.rtcpMux) != nil)
        agreement.secure = agreed
        return agreement
    }

    /// Whether they have payload 13, and it means what it should: with a codec of another clock it could not be sent.
    private func hasComfortNoise(_ medium: PartLines, _ line: MediumField, beside codec: AudioCodec) -> Bool {
        guard codec.clockRate == AudioCodec.comfortNoise.clockRate else { return false }
        var rest = line.formats
        while true {
            let word = rest.nextToken()
            guard !word.isEmpty else { return false }
            guard word.number(upTo: 127) == 13 else { continue }
            return medium.map(of: 13).map { AudioCodec.comfortNoise.matches($0) } ?? true
        }
    }

    private func declaresEvents(_ medium: PartLines, at clock: UInt32) -> Bool {
        medium.lines.contains { line in
            line.kind == .rtpMap && MapField(medium.field(line)).map { $0.isTelephoneEvent && $0.clockRate == clock } == true
        }
    }

    // MARK: Parts

    private func remoteAddress(
        of medium: PartLines, _ line: MediumField, in description: DescriptionLines
    ) throws(OfferAnswerError) -> SocketAddress {
        guard let ip = description.address(of: medium), !ip.isMulticast else { throw .noUsableAddress }
        guard ip.isV6 == local.ip.isV6 else { throw .otherFamily }
        return SocketAddress(ip: ip, port: line.port)
    }

    /// Their audio formats that we have, in their order, with their numbers and our codecs, until `take` returns false. Each encoding
    /// once.
    private func eachFormat(
        of medium: PartLines, _ line: MediumField, offered: [AudioFormat], _ take: (AudioFormat) -> Bool
    ) {
        var seen: UInt64 = 0
        var rest = line.formats
        while true {
            let word = rest.nextToken()
            guard !word.isEmpty else { return }
            guard let payload = word.number(upTo: 127),
                let index = codec(UInt8(payload), of: medium, offered: offered), seen & (1 << UInt64(index)) == 0
            else { continue }
            seen |= 1 << UInt64(index)
            if !take(AudioFormat(payload: UInt8(payload), codec: capabilities.codecs[index])) { return }
        }
    }

    /// Which codec of ours they mean by a number.
    private func codec(_ payload: UInt8, of medium: PartLines, offered: [AudioFormat]) -> Int? {
        let codecs = capabilities.codecs
        if let map = medium.map(of: payload) { return codecs.firstIndex { $0.matches(map) } }
        if payload < 96 { return codecs.firstIndex { $0.staticPayload == payload } }
        // A dynamic number without rtpmap means something only where we gave it its meaning.
        guard let format = offered.first(where: { $0.payload == payload }) else { return nil }
        return codecs.firstIndex { $0.isSameEncoding(as: format.codec) }
    }

    private func choose(from medium: PartLines, _ line: MediumField) -> AudioFormat? {
        var chosen: (format: AudioFormat, rank: Int)?
        eachFormat(of: medium, line, offered: []) { [capabilities] format in
            if capabilities.preference == .theirs {
                chosen = (format, 0)
                return false
            }
            let rank = capabilities.codecs.firstIndex(of: format.codec) ?? .max
            if chosen.map({ rank < $0.rank }) ?? true { chosen = (format, rank) }
            return true
        }
        return chosen?.format
    }

    /// telephone-event with the codec's clock (RFC 4733 section 2.1), else at 8000 Hz, which devices offer beside wideband codecs
    /// and then use, else the first.
    private func chooseEvents(from medium: PartLines, _ line: MediumField, clockRate: UInt32) -> TelephoneEventFormat? {
        guard capabilities.telephoneEvents else { return nil }
        var usual: TelephoneEventFormat?
        var first: TelephoneEventFormat?
        var rest = line.formats
        while true {
            let word = rest.nextToken()
            guard !word.isEmpty else { return usual ?? first }
            guard let payload = word.number(upTo: 127), let map = medium.map(of: UInt8(payload)), map.isTelephoneEvent else {
                continue
            }
            // Nobody's audio has another clock.
            guard TelephoneEventFormat.clockRates.contains(map.clockRate) else { continue }
            let format = TelephoneEventFormat(payload: map.payload, clockRate: map.clockRate)
            if map.clockRate == clockRate { return format }
            if usual == nil, map.clockRate == 8000 { usual = format }
            if first == nil { first = format }
        }
    }

    private func makeAgreement(
        _ theirs: PartLines, in description: DescriptionLines, index: Int, remote: SocketAddress, formats: [AudioFormat],
        sendPayload: UInt8, events: TelephoneEventFormat?, mux: Bool
    ) -> AudioAgreement {
        let session = description.session
        var direction = (theirs.direction ?? session.direction ?? .sendrecv).reversed
        if remote.ip.isUnspecified { direction = MediaDirection(sends: false, receives: direction.receives) }
        let held = !direction.sends
        direction = MediaDirection(
            sends: direction.sends && wantedDirection.sends, receives: direction.receives && wantedDirection.receives)
        let rtcp = theirs.rtcp.flatMap { $0.port == 0 ? nil : $0 }
        var rtcpIP = rtcp?.address ?? remote.ip
        if rtcpIP.isV6 != remote.ip.isV6 || rtcpIP.isMulticast || (rtcpIP.isUnspecified && !remote.ip.isUnspecified) {
            rtcpIP = remote.ip
        }
        let refusesReports =
            theirs.bandwidth("RS") ?? session.bandwidth("RS") == 0 && theirs.bandwidth("RR") ?? session.bandwidth("RR") == 0
        return AudioAgreement(
            formats: formats, sendPayload: sendPayload, remoteParameters: theirs.parameters(of: sendPayload), sendEvents: events,
            packetTime: packetTime(for: theirs), maximumPacketTime: theirs.milliseconds(.maximumPacketTime), remote: remote,
            remoteRTCP: mux
                ? remote : SocketAddress(ip: rtcpIP, port: rtcp?.port ?? (remote.port == .max ? remote.port : remote.port + 1)),
            rtcpMux: mux, rtcpWanted: !refusesReports, direction: direction, heldByRemote: held,
            heldByLocal: !wantedDirection.receives, mediaIndex: index)
    }

    /// What they want to receive, in whole tens from 10 to 60 ms and not above their maximum.
    private func packetTime(for medium: PartLines) -> Int {
        let wished = medium.milliseconds(.packetTime) ?? capabilities.packetTime
        let limit = min(medium.milliseconds(.maximumPacketTime) ?? 60, 60)
        return max(min(wished, limit) / 10 * 10, 10)
    }
}

extension MediumField {
    fileprivate var isAudio: Bool { kind.equals(ignoringCase: "audio") }
}

extension MapField {
    fileprivate var isTelephoneEvent: Bool { name.equals(ignoringCase: AudioCodec.telephoneEventName) }
}

extension IPAddress {
    fileprivate var isMulticast: Bool {
        switch self {
        case .v4(let value): value >> 28 == 0xE
        case .v6(let high, _): high >> 56 == 0xFF
        }
    }
}
