// Reads a session description from bytes (RFC 8866), as leniently as devices need: LF or CR alone as line end, blanks before and
// after a line, missing o= s= t=, lines in the wrong order, lines that are no `x=` lines and unknown letters (skipped).
// What it does not do: judge whether an address or codec is usable; offer/answer does.

import Basics

/// Why a body is no session description, with the place.
package struct SDPError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// Nothing but blank lines.
        case empty
        /// The first line is not `v=0`.
        case notSDP
        /// m= without kind, port (0 to 65535) or proto.
        case badMediaLine
        /// More than 64 KiB, 64 media or 4,096 lines.
        case tooLarge
    }

    package var reason: Reason
    /// From 1.
    package var line: Int

    package init(_ reason: Reason, line: Int) {
        self.reason = reason
        self.line = line
    }
}

extension SessionDescription {
    /// Parses a body. Errors: the description is hopeless as a whole; bad single lines are skipped instead.
    package init(parsing bytes: some Sequence<UInt8>) throws(SDPError) {
        let result: Result<SessionDescription, SDPError>? = bytes.withContiguousStorageIfAvailable {
            Self.parse(UnsafeRawBufferPointer($0))
        }
        self = try (result ?? Array(bytes).withUnsafeBytes { Self.parse($0) }).get()
    }

    /// Parses a body in place.
    package init(parsing bytes: UnsafeRawBufferPointer) throws(SDPError) {
        self = try Self.parse(bytes).get()
    }

    private static func parse(_ bytes: UnsafeRawBufferPointer) -> Result<SessionDescription, SDPError> {
        var parser = Parser(bytes: bytes)
        do throws(SDPError) {
            return .success(try parser.parse())
        } catch {
            return .failure(error)
        }
    }
}

/// Walks over the lines once; a description under construction is in `session`, its last medium still open.
private struct Parser {
    let bytes: UnsafeRawBufferPointer
    var session = SessionDescription(sessionName: "")
    var line = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func parse() throws(SDPError) -> SessionDescription {
        guard bytes.count <= 65_536 else { throw SDPError(.tooLarge, line: 1) }
        var position = 0
        var sawVersion = false
        while position < bytes.count {
            var end = position
            while end < bytes.count, bytes[end] != lineFeed, bytes[end] != carriageReturn { end += 1 }
            var next = end + 1
            if next < bytes.count, bytes[end] == carriageReturn, bytes[next] == lineFeed { next += 1 }
            line += 1
            guard line <= 4096 else { throw SDPError(.tooLarge, line: line) }
            let text = Field(bytes, position, end)
            position = next
            guard !text.isEmpty else { continue }
            guard sawVersion else {
                guard text.count >= 3, text[0] == UInt8(ascii: "v"), text[1] == equals,
                    text.dropping(2).equals("0")
                else { throw SDPError(.notSDP, line: line) }
                sawVersion = true
                continue
            }
            if text.count >= 2, text[1] == equals { try take(text[0], text.dropping(2)) }
        }
        guard sawVersion else { throw SDPError(.empty, line: max(line, 1)) }
        return session
    }

    private mutating func take(_ letter: UInt8, _ value: Field) throws(SDPError) {
        switch letter {
        case UInt8(ascii: "m"): try takeMedia(value)
        case UInt8(ascii: "a"): takeAttribute(value)
        case UInt8(ascii: "c"):
            let connection = ConnectionData(value)
            if session.media.isEmpty {
                session.connection = connection
            } else {
                session.media[session.media.count - 1].connection = connection
            }
        case UInt8(ascii: "b"):
            if session.media.isEmpty {
                session.bandwidths.append(value.string)
            } else {
                session.media[session.media.count - 1].bandwidths.append(value.string)
            }
        case UInt8(ascii: "o") where session.media.isEmpty: session.origin = Origin(text: value.string)
        case UInt8(ascii: "s") where session.media.isEmpty: session.sessionName = value.string
        default: break
        }
    }

    /// m=kind port[/count] proto fmt …
    private mutating func takeMedia(_ value: Field) throws(SDPError) {
        var rest = value
        let kind = rest.nextToken()
        var port = rest.nextToken()
        let proto = rest.nextToken()
        guard session.media.count < 64 else { throw SDPError(.tooLarge, line: line) }
        let number = port.splitting(at: UInt8(ascii: "/"))
        guard !kind.isEmpty, !proto.isEmpty, let portNumber = number.number(upTo: 65_535) else {
            throw SDPError(.badMediaLine, line: line)
        }
        let count = port.number(upTo: 65_535) ?? 1
        var formats: [String] = []
        while true {
            let format = rest.nextToken()
            guard !format.isEmpty else { break }
            formats.append(format.string)
        }
        session.media.append(
            MediaDescription(
                kind: kind.string, port: UInt16(portNumber), portCount: UInt16(count), transport: proto.string, formats: formats))
    }

    private mutating func takeAttribute(_ value: Field) {
        guard !value.isEmpty else { return }
        var rest = value
        let name = rest.splitting(at: UInt8(ascii: ":"))
        let hasValue = name.count < value.count
        let direction = hasValue ? nil : MediaDirection(name)
        guard !session.media.isEmpty else {
            if let direction {
                session.direction = direction
            } else {
                session.attributes.append(Attribute(name.string, hasValue ? rest.string : nil))
            }
            return
        }
        let index = session.media.count - 1
        if let direction {
            session.media[index].direction = direction
        } else if !(hasValue ? session.media[index].take(name, rest.trimmed()) : session.media[index].take(name)) {
            session.media[index].attributes.append(Attribute(name.string, hasValue ? rest.string : nil))
        }
    }
}

extension ConnectionData {
    /// As `init(text:)`, without the detour over text.
    fileprivate init(_ value: Field) {
        var rest = value
        let network = rest.nextToken()
        _ = rest.nextToken()
        var address = rest.nextToken()
        let lacksAddress = address.isEmpty
        let bare = address.splitting(at: UInt8(ascii: "/"))
        self.init(text: value.string, address: network.equals("IN") ? bare.address : nil, lacksAddress: lacksAddress)
    }
}

extension MediaDirection {
    fileprivate init?(_ name: Field) {
        if name.equals("sendrecv") {
            self = .sendrecv
        } else if name.equals("sendonly") {
            self = .sendonly
        } else if name.equals("recvonly") {
            self = .recvonly
        } else if name.equals("inactive") {
            self = .inactive
        } else {
            return nil
        }
    }
}

extension MediaDescription {
    /// Takes a property attribute that has a field of its own.
    fileprivate mutating func take(_ name: Field) -> Bool {
        guard name.equals("rtcp-mux") else { return false }
        rtcpMux = true
        return true
    }

    /// Takes a value attribute that has a field of its own and makes sense.
    fileprivate mutating func take(_ name: Field, _ value: Field) -> Bool {
        var rest = value
        if name.equals("rtpmap") {
            guard let payload = rest.nextToken().number(upTo: 127) else { return false }
            var encoding = rest.nextToken()
            let codec = encoding.splitting(at: UInt8(ascii: "/"))
            guard !codec.isEmpty, let clock = encoding.splitting(at: UInt8(ascii: "/")).number(upTo: Int(UInt32.max)), clock > 0
            else { return false }
            let channels = encoding.number(upTo: 255) ?? 1
            rtpMaps.append(
                RTPMap(
                    payload: UInt8(payload), name: codec.string, clockRate: UInt32(clock), channels: UInt8(max(channels, 1))))
        } else if name.equals("fmtp") {
            let format = rest.nextToken()
            guard !format.isEmpty else { return false }
            formatParameters.append(FormatParameters(format: format.string, text: rest.trimmed().string))
        } else if name.equals("ptime") {
            guard let milliseconds = value.number(upTo: 1000), milliseconds > 0 else { return false }
            packetTime = milliseconds
        } else if name.equals("maxptime") {
            guard let milliseconds = value.number(upTo: 1000), milliseconds > 0 else { return false }
            maximumPacketTime = milliseconds
        } else if name.equals("rtcp") {
            guard let port = rest.nextToken().number(upTo: 65_535) else { return false }
            let network = rest.nextToken()
            var address: IPAddress?
            if !network.isEmpty {
                let family = rest.nextToken()
                address = rest.nextToken().address
                guard network.equals("IN"), family.equals("IP4") || family.equals("IP6"), address != nil else { return false }
            }
            rtcp = RTCPPort(port: UInt16(port), address: address)
        } else {
            return false
        }
        return true
    }
}
