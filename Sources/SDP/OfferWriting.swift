// Our offers and answers as octets (RFC 8866), in the order of the RFC, with CRLF. Part of OfferAnswer; nothing here changes it.

import Basics

extension OfferAnswer {
    /// Our audio in its place, every other line of the session refused in its own (RFC 3264 section 8).
    func writeOffer() -> [UInt8] {
        var writer = begin()
        func audio(_ writer: inout DescriptionWriter) {
            write(
                offeredFormats, wantedDirection, capabilities.packetTime, mux: offeredMux, crypto: secure.lines, into: &writer)
        }
        if let localDescription, let last = try? SessionDescription(parsing: localDescription[...]) {
            writeMedia(like: last, into: &writer, audio)
        } else {
            audio(&writer)
        }
        return writer.octets
    }

    func writeAnswer(to offer: SessionDescription, _ agreement: AudioAgreement) -> [UInt8] {
        var writer = begin()
        func audio(_ writer: inout DescriptionWriter) {
            write(
                agreement.formats, agreement.direction, agreement.packetTime, mux: agreement.rtcpMux,
                crypto: agreement.secure.map { [$0.answer] } ?? [], into: &writer)
        }
        writeMedia(like: offer, into: &writer, audio)
        return writer.octets
    }

    /// The session part. t= is always `0 0`: a session without bounds (RFC 3264 section 5).
    private func begin() -> DescriptionWriter {
        var writer = DescriptionWriter()
        writer.append("v=0\r\no=- ")
        writer.append(number: sessionID)
        writer.append(" ")
        writer.append(number: version)
        writer.append(" IN")
        writer.append(connection: local.ip)
        writer.append("s=-\r\nc=IN")
        writer.append(connection: local.ip)
        writer.append("t=0 0\r\n")
        return writer
    }

    /// A line for each m= of `description`: what `audio` writes in our stream's place, the others refused.
    private func writeMedia(
        like description: SessionDescription, into writer: inout DescriptionWriter, _ audio: (inout DescriptionWriter) -> Void
    ) {
        guard description.mediaCount > 1 else { return audio(&writer) }
        description.read { lines in
            var (place, index) = (0, 0)
            while let (medium, end) = lines.medium(from: place) {
                if index == audioSlot { audio(&writer) } else { writer.refuse(medium.medium) }
                (place, index) = (end, index + 1)
            }
        }
    }

    /// Our m=audio with every number spelled out.
    private func write(
        _ formats: [AudioFormat], _ direction: MediaDirection, _ packetTime: Int, mux: Bool, crypto: [CryptoAttribute],
        into writer: inout DescriptionWriter
    ) {
        let isFirstOffer = formats == capabilities.formats
        writer.append("m=audio ")
        writer.append(number: UInt64(local.port))
        writer.append(" ")
        writer.append(text: transport)
        if isFirstOffer { writer.append(octets: capabilities.formatList) } else { writer.append(listOf: formats) }
        writer.append("\r\n")
        if isFirstOffer { writer.append(octets: capabilities.formatLines) } else { writer.append(linesOf: formats) }
        writer.append("a=ptime:")
        writer.append(number: UInt64(packetTime))
        switch direction {
        case .sendrecv: writer.append("\r\na=sendrecv\r\n")
        case .sendonly: writer.append("\r\na=sendonly\r\n")
        case .recvonly: writer.append("\r\na=recvonly\r\n")
        case .inactive: writer.append("\r\na=inactive\r\n")
        }
        if let localRTCPPort, !mux {
            writer.append("a=rtcp:")
            writer.append(number: UInt64(localRTCPPort))
            writer.append("\r\n")
        }
        if mux { writer.append("a=rtcp-mux\r\n") }
        for line in crypto {
            writer.append("a=crypto:")
            writer.append(text: line.text)
            writer.append("\r\n")
        }
    }
}

/// Octets of a description that is being written.
struct DescriptionWriter {
    private(set) var octets: [UInt8] = []

    init(capacity: Int = 320) { octets.reserveCapacity(capacity) }

    mutating func append(_ text: StaticString) {
        octets.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(text: String) { octets.append(contentsOf: text.utf8) }
    mutating func append(octets more: [UInt8]) { octets.append(contentsOf: more) }

    mutating func append(number: UInt64) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            let start = Self.write(number, into: digits, before: 20)
            octets.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }

    /// The digits of a number, the last one before `end`; returns where they begin.
    private static func write(_ number: UInt64, into digits: UnsafeMutableBufferPointer<UInt8>, before end: Int) -> Int {
        var (rest, place) = (number, end)
        repeat {
            place -= 1
            digits[place] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        } while rest > 0
        return place
    }

    /// ` IP4 ` with the address, and the end of the line.
    mutating func append(connection ip: IPAddress) {
        switch ip {
        case .v6:
            append(" IP6 ")
            append(text: ip.description)
        case .v4(let value):
            append(" IP4 ")
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16) { digits in
                var (rest, place) = (value, 16)
                for _ in 0..<4 {
                    place = Self.write(UInt64(rest & 255), into: digits, before: place) - 1
                    digits[place] = UInt8(ascii: ".")
                    rest >>= 8
                }
                octets.append(contentsOf: UnsafeBufferPointer(rebasing: digits[(place + 1)...]))
            }
        }
        append("\r\n")
    }

    /// The fmt list, each number after a blank.
    mutating func append(listOf formats: [AudioFormat]) {
        for format in formats {
            append(" ")
            append(number: UInt64(format.payload))
        }
    }

    /// a=rtpmap and a=fmtp of all.
    mutating func append(linesOf formats: [AudioFormat]) {
        for format in formats {
            append("a=rtpmap:")
            append(number: UInt64(format.payload))
            append(" ")
            append(text: format.codec.name)
            append("/")
            append(number: UInt64(format.codec.clockRate))
            if format.codec.channels != 1 {
                append("/")
                append(number: UInt64(format.codec.channels))
            }
            append("\r\n")
        }
        for format in formats {
            guard let parameters = format.codec.parameters else { continue }
            append("a=fmtp:")
            append(number: UInt64(format.payload))
            append(" ")
            append(text: parameters)
            append("\r\n")
        }
    }

    /// An m= line refused in place; the fmt list only has to be there (RFC 3264 section 6). The type is written as it is registered.
    mutating func refuse(_ medium: MediumField) {
        append("m=")
        for octet in medium.kind.slice { octets.append(lower(octet)) }
        append(" 0 ")
        octets.append(contentsOf: medium.transport.slice)
        let formats = medium.formats.tokens
        for format in formats {
            append(" ")
            octets.append(contentsOf: format.slice)
        }
        append(formats.isEmpty ? " 0\r\n" : "\r\n")
    }
}
