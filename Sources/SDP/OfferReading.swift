// How their offers and answers become agreements: the choice of the stream, codec, numbers, packet time and direction.
// Part of OfferAnswer; nothing here changes it.

import Basics

extension OfferAnswer {
    struct Accepted {
        var agreement: AudioAgreement
        /// Our whole answer.
        var media: [MediaDescription]
        /// Every number of our answer, telephone-event too.
        var numbers: [AudioFormat]
    }

    /// Takes the audio line in use when it is still usable, else the first usable one (RFC 3264 section 5.1 lets an offer have
    /// several); the others are refused in place.
    func readOffer(_ offer: SessionDescription) throws(OfferAnswerError) -> Accepted {
        var indices = offer.media.indices.filter { sameName(offer.media[$0].kind, "audio") }
        if let audioSlot, let place = indices.firstIndex(of: audioSlot) { indices.insert(indices.remove(at: place), at: 0) }
        var refusal = OfferAnswerError.noAudio
        for index in indices {
            do throws(OfferAnswerError) {
                return try accept(offer, index: index)
            } catch {
                // The nearest miss is the reason that is told.
                if refusal == .noAudio || refusal == .audioRejected { refusal = error }
            }
        }
        throw refusal
    }

    private func accept(_ offer: SessionDescription, index: Int) throws(OfferAnswerError) -> Accepted {
        let theirs = offer.media[index]
        let remote = try remoteAddress(of: theirs, in: offer)
        let formats = audioFormats(of: theirs, offered: [])
        guard let chosen = choose(from: formats) else { throw .noCommonCodec }
        let events = chooseEvents(from: theirs, clockRate: chosen.codec.clockRate)
        let agreement = makeAgreement(
            theirs, in: offer, index: index, remote: remote, send: chosen, receive: [chosen], events: events,
            receiveEvents: events.map { [$0] } ?? [], mux: theirs.rtcpMux)

        var numbers = [chosen]
        if let events {
            numbers.append(AudioFormat(payload: events.payload, codec: .telephoneEvent(clockRate: events.clockRate)))
        }
        var answer = offer.media.map { medium in
            // Refused in place; the fmt list only has to be there (RFC 3264 section 6).
            MediaDescription(
                kind: medium.kind, port: 0, transport: medium.transport, formats: medium.formats.isEmpty ? ["0"] : medium.formats)
        }
        answer[index] = audioMedium(
            transport: theirs.transport, numbers: numbers, direction: agreement.direction, packetTime: agreement.packetTime,
            mux: agreement.rtcpMux)
        return Accepted(agreement: agreement, media: answer, numbers: numbers)
    }

    func readAnswer(
        _ answer: SessionDescription, slot: Int, offer: MediaDescription
    ) throws(OfferAnswerError) -> AudioAgreement {
        let theirs = answer.media[slot]
        let remote = try remoteAddress(of: theirs, in: answer)
        let usable = audioFormats(of: theirs, offered: offeredFormats).filter { format in
            offeredFormats.contains { $0.codec.isSameEncoding(as: format.codec) }
        }
        guard let send = usable.first else { throw .noCommonCodec }

        // They send with our numbers; some devices use their own, which is harmless to understand where it means nothing else.
        var receive: [AudioFormat] = []
        for format in usable {
            if let ours = offeredFormats.first(where: { $0.codec.isSameEncoding(as: format.codec) }) { receive.append(ours) }
        }
        for format in usable where !offeredFormats.contains(where: { $0.payload == format.payload }) {
            receive.append(format)
        }
        let events = chooseEvents(from: theirs, clockRate: send.codec.clockRate)
        var receiveEvents: [TelephoneEventFormat] = []
        if let events {
            receiveEvents = offeredFormats.filter { $0.codec.isTelephoneEvent }
                .map { TelephoneEventFormat(payload: $0.payload, clockRate: $0.codec.clockRate) }
                .filter { format in events.clockRate == format.clockRate || declaresEvent(theirs, clock: format.clockRate) }
            if !offeredFormats.contains(where: { $0.payload == events.payload }) { receiveEvents.append(events) }
        }
        return makeAgreement(
            theirs, in: answer, index: slot, remote: remote, send: send, receive: receive, events: events,
            receiveEvents: receiveEvents, mux: theirs.rtcpMux && offer.rtcpMux)
    }

    private func declaresEvent(_ medium: MediaDescription, clock: UInt32) -> Bool {
        medium.rtpMaps.contains { AudioCodec.telephoneEvent(clockRate: clock).matches($0) }
    }

    // MARK: Parts

    private func remoteAddress(
        of medium: MediaDescription, in description: SessionDescription
    ) throws(OfferAnswerError) -> SocketAddress {
        guard medium.port != 0 else { throw .audioRejected }
        // a=crypto in RTP/AVP does not make a stream encrypted, nor does a fingerprint: the proto decides.
        guard sameName(medium.transport, "RTP/AVP") || sameName(medium.transport, "RTP/AVPF") else { throw .unsupportedTransport }
        guard let ip = description.address(of: medium), ip.isV6 == local.ip.isV6, !ip.isMulticast else { throw .noUsableAddress }
        return SocketAddress(ip: ip, port: medium.port)
    }

    /// Their audio formats that we have, in their order, with their numbers and our codecs.
    private func audioFormats(of medium: MediaDescription, offered: [AudioFormat]) -> [AudioFormat] {
        var result: [AudioFormat] = []
        for format in medium.formats {
            guard let payload = UInt8(format), payload < 128 else { continue }
            let codec: AudioCodec?
            if let map = medium.rtpMap(of: payload) {
                codec = capabilities.codecs.first { $0.matches(map) }
            } else if payload < 96 {
                codec = capabilities.codecs.first { $0.staticPayload == payload }
            } else {
                // A dynamic number without rtpmap means something only where we gave it its meaning.
                codec = offered.first { $0.payload == payload && !$0.codec.isTelephoneEvent }?.codec
            }
            guard let codec, !result.contains(where: { $0.codec.isSameEncoding(as: codec) }) else { continue }
            result.append(AudioFormat(payload: payload, codec: codec))
        }
        return result
    }

    private func choose(from formats: [AudioFormat]) -> AudioFormat? {
        switch capabilities.preference {
        case .theirs: return formats.first
        case .ours:
            for codec in capabilities.codecs {
                if let format = formats.first(where: { $0.codec.isSameEncoding(as: codec) }) { return format }
            }
            return nil
        }
    }

    /// telephone-event with the codec's clock (RFC 4733 section 2.1), else at 8000 Hz, which devices offer beside wideband codecs
    /// and then use, else the first.
    private func chooseEvents(from medium: MediaDescription, clockRate: UInt32) -> TelephoneEventFormat? {
        guard capabilities.telephoneEvents else { return nil }
        let offered = medium.formats.compactMap { format -> TelephoneEventFormat? in
            guard let payload = UInt8(format), let map = medium.rtpMap(of: payload),
                sameName(map.name, AudioCodec.telephoneEventName)
            else { return nil }
            return TelephoneEventFormat(payload: payload, clockRate: map.clockRate)
        }
        return offered.first { $0.clockRate == clockRate } ?? offered.first { $0.clockRate == 8000 } ?? offered.first
    }

    private func makeAgreement(
        _ theirs: MediaDescription, in description: SessionDescription, index: Int, remote: SocketAddress, send: AudioFormat,
        receive: [AudioFormat], events: TelephoneEventFormat?, receiveEvents: [TelephoneEventFormat], mux: Bool
    ) -> AudioAgreement {
        var direction = description.direction(of: theirs).reversed
        if remote.ip.isUnspecified { direction = MediaDirection(sends: false, receives: direction.receives) }
        let held = !direction.sends
        direction = MediaDirection(
            sends: direction.sends && wantedDirection.sends, receives: direction.receives && wantedDirection.receives)
        let rtcp = theirs.rtcp.flatMap { $0.port == 0 ? nil : $0 }
        var rtcpIP = rtcp?.address ?? remote.ip
        if rtcpIP.isV6 != remote.ip.isV6 || rtcpIP.isMulticast || (rtcpIP.isUnspecified && !remote.ip.isUnspecified) {
            rtcpIP = remote.ip
        }
        let bandwidth = { (name: String) in
            theirs.bandwidth(name) ?? description.bandwidths.first { $0.hasPrefix(name + ":") }.flatMap { Int($0.dropFirst(3)) }
        }
        return AudioAgreement(
            codec: send.codec, sendPayload: send.payload,
            remoteParameters: theirs.formatParameters.isEmpty ? nil : theirs.parameters(of: String(send.payload)),
            receiveFormats: receive, sendEvents: events, receiveEvents: receiveEvents,
            packetTime: packetTime(for: theirs), remote: remote,
            remoteRTCP: mux
                ? remote : SocketAddress(ip: rtcpIP, port: rtcp?.port ?? (remote.port == .max ? remote.port : remote.port + 1)),
            rtcpMux: mux, rtcpWanted: !(bandwidth("RS") == 0 && bandwidth("RR") == 0), direction: direction, heldByRemote: held,
            heldByLocal: !wantedDirection.receives, mediaIndex: index)
    }

    /// What they want to receive, in whole tens from 10 to 60 ms and not above their maximum.
    private func packetTime(for medium: MediaDescription) -> Int {
        let wished = medium.packetTime ?? capabilities.packetTime
        let limit = min(medium.maximumPacketTime ?? 60, 60)
        return max(min(wished, limit) / 10 * 10, 10)
    }
}

extension IPAddress {
    fileprivate var isMulticast: Bool {
        switch self {
        case .v4(let value): value >> 28 == 0xE
        case .v6(let high, _): high >> 56 == 0xFF
        }
    }
}
