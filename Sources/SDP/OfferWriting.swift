// Our audio lines. Part of OfferAnswer.

import Basics

extension OfferAnswer {
    /// The media of an offer: our audio in its place, every other line of the session refused in its own (RFC 3264 section 8).
    mutating func offerMedia() -> [MediaDescription] {
        var formats: [AudioFormat] = []
        let events = capabilities.telephoneEventClocks.map { AudioCodec.telephoneEvent(clockRate: $0) }
        formats.reserveCapacity(capabilities.codecs.count + events.count)
        for codec in capabilities.codecs + events {
            formats.append(AudioFormat(payload: payloads.assign(codec, beside: formats), codec: codec))
        }
        offeredFormats = formats
        let slot = audioSlot ?? 0
        if slots.isEmpty { slots = [Slot(kind: "audio", transport: "RTP/AVP", formats: [])] }
        audioSlot = slot
        return slots.indices.map { index in
            let other = slots[index]
            guard index == slot else {
                return MediaDescription(
                    kind: other.kind, port: 0, transport: other.transport, formats: other.formats.isEmpty ? ["0"] : other.formats)
            }
            return audioMedium(
                transport: other.transport, numbers: formats, direction: wantedDirection, packetTime: capabilities.packetTime,
                mux: agreement?.rtcpMux ?? capabilities.offersRTCPMux)
        }
    }

    /// Our m=audio with every number spelled out.
    func audioMedium(
        transport: String, numbers: [AudioFormat], direction: MediaDirection, packetTime: Int, mux: Bool
    ) -> MediaDescription {
        var medium = MediaDescription(
            kind: "audio", port: local.port, transport: transport, formats: numbers.map { String($0.payload) })
        medium.rtpMaps.reserveCapacity(numbers.count)
        for format in numbers {
            let codec = format.codec
            medium.rtpMaps.append(
                RTPMap(payload: format.payload, name: codec.name, clockRate: codec.clockRate, channels: codec.channels))
            if let parameters = codec.parameters {
                medium.formatParameters.append(FormatParameters(format: String(format.payload), text: parameters))
            }
        }
        medium.packetTime = packetTime
        medium.direction = direction
        medium.rtcpMux = mux
        if let localRTCPPort, !mux { medium.rtcp = RTCPPort(port: localRTCPPort) }
        return medium
    }
}
