// The lines of a description while somebody reads them: what they mean, decoded where they stand. Valid only inside of
// `SessionDescription.read`.

import Basics

struct DescriptionLines {
    let bytes: UnsafeRawBufferPointer
    let lines: UnsafeBufferPointer<Line>

    /// The lines before the first m=.
    var session: PartLines { part(0..<next(.media, from: 0)) }

    /// Some of the lines.
    func part(_ range: Range<Int>) -> PartLines {
        PartLines(bytes: bytes, lines: UnsafeBufferPointer(rebasing: lines[range]))
    }

    /// The m= that begins at or after `line`, with the place behind it; nil when there is none.
    func medium(from line: Int) -> (medium: PartLines, end: Int)? {
        let start = next(.media, from: line)
        guard start < lines.count else { return nil }
        let end = next(.media, from: start + 1)
        return (part(start..<end), end)
    }

    private func next(_ kind: Line.Kind, from line: Int) -> Int {
        var line = line
        while line < lines.count, lines[line].kind != kind { line += 1 }
        return line
    }

    /// The address that a medium's packets go to. A c= without any address falls back to the session's c= and then to o=, as devices
    /// that truncate the line still send a usable o=. Nil for host names, other networks and descriptions without an address.
    func address(of medium: PartLines) -> IPAddress? {
        if let own = medium.last(.connection).map(ConnectionField.init), !own.lacksAddress { return own.address }
        let session = session
        if let shared = session.last(.connection).map(ConnectionField.init), !shared.lacksAddress { return shared.address }
        guard let address = session.last(.origin).flatMap({ Origin(text: $0.string).address }), !address.isUnspecified else {
            return nil
        }
        return address
    }
}

/// The lines of the session part, or an m= line with those that belong to it.
struct PartLines {
    let bytes: UnsafeRawBufferPointer
    let lines: UnsafeBufferPointer<Line>

    func field(_ line: Line) -> Field { Field(trimmed: bytes, Int(line.start), Int(line.end)) }

    /// The last line of a kind.
    func last(_ kind: Line.Kind) -> Field? {
        var index = lines.count
        while index > 0 {
            index -= 1
            if lines[index].kind == kind { return field(lines[index]) }
        }
        return nil
    }

    /// All lines of a kind.
    func all(_ kind: Line.Kind) -> [Field] { lines.filter { $0.kind == kind }.map(field) }

    /// What the m= line says.
    var medium: MediumField {
        guard let medium = MediumField(field(lines[0])) else { preconditionFailure("the parser looked at it") }
        return medium
    }

    var direction: MediaDirection? { last(.direction).flatMap { MediaDirection($0) } }
    var connection: ConnectionData? {
        last(.connection).map { text in
            let field = ConnectionField(text)
            return ConnectionData(text: text.string, address: field.address, lacksAddress: field.lacksAddress)
        }
    }

    /// ptime or maxptime, 1 to 1000: the last line that makes sense.
    func milliseconds(_ kind: Line.Kind) -> Int? {
        for line in lines.reversed() where line.kind == kind {
            if let value = Self.milliseconds(field(line)) { return value }
        }
        return nil
    }

    private static func milliseconds(_ field: Field) -> Int? { field.number(upTo: 1000).flatMap { $0 > 0 ? $0 : nil } }

    /// a=rtcp, the last that makes sense.
    var rtcp: RTCPPort? {
        for line in lines.reversed() where line.kind == .rtcp {
            if let port = RTCPPort(field(line)) { return port }
        }
        return nil
    }

    /// The rtpmap of a payload number; the first when there are several.
    func map(of payload: UInt8) -> MapField? {
        for line in lines where line.kind == .rtpMap {
            if let map = MapField(field(line)), map.payload == payload { return map }
        }
        return nil
    }

    /// The fmtp text of a payload number.
    func parameters(of payload: UInt8) -> String? {
        for line in lines where line.kind == .formatParameters {
            var rest = field(line)
            if rest.nextToken().number(upTo: 127) == Int(payload) { return rest.trimmed().string }
        }
        return nil
    }

    /// The number of the first b= with this modifier.
    func bandwidth(_ modifier: StaticString) -> Int? {
        for line in lines where line.kind == .bandwidth {
            var rest = field(line)
            if rest.splitting(at: UInt8(ascii: ":")).equals(modifier) { return rest.trimmed().number(upTo: .max) }
        }
        return nil
    }

    /// a= lines without a field of their own, and those that make no sense.
    var attributes: [Attribute] {
        lines.compactMap { line in
            let value = field(line)
            switch line.kind {
            case .attribute:
                var rest = value
                let name = rest.splitting(at: UInt8(ascii: ":"))
                return Attribute(name.string, name.count < value.count ? rest.string : nil)
            case .rtpMap: return MapField(value) == nil ? Attribute("rtpmap", value.string) : nil
            case .formatParameters: return value.isEmpty ? Attribute("fmtp", "") : nil
            case .packetTime: return Self.milliseconds(value) == nil ? Attribute("ptime", value.string) : nil
            case .maximumPacketTime: return Self.milliseconds(value) == nil ? Attribute("maxptime", value.string) : nil
            case .rtcp: return RTCPPort(value) == nil ? Attribute("rtcp", value.string) : nil
            case .origin, .name, .connection, .bandwidth, .media, .rtcpMux, .direction: return nil
            }
        }
    }
}

/// m=kind port[/count] proto fmt …
struct MediumField {
    let kind: Field
    let port: UInt16
    let portCount: UInt16
    let transport: Field
    let formats: Field

    /// nil without kind, port or proto.
    init?(_ value: Field) {
        var rest = value
        kind = rest.nextToken()
        var ports = rest.nextToken()
        transport = rest.nextToken()
        formats = rest
        guard !kind.isEmpty, !transport.isEmpty, let port = ports.splitting(at: UInt8(ascii: "/")).number(upTo: 65_535) else {
            return nil
        }
        self.port = UInt16(port)
        portCount = UInt16(ports.number(upTo: 65_535) ?? 1)
    }
}

/// payload name/clock[/channels]
struct MapField {
    let payload: UInt8
    let name: Field
    let clockRate: UInt32
    let channels: UInt8

    /// nil without a payload number, a name or a clock.
    init?(_ value: Field) {
        var rest = value
        guard let payload = rest.nextToken().number(upTo: 127) else { return nil }
        var encoding = rest.nextToken()
        name = encoding.splitting(at: UInt8(ascii: "/"))
        guard !name.isEmpty, let clock = encoding.splitting(at: UInt8(ascii: "/")).number(upTo: Int(UInt32.max)), clock > 0 else {
            return nil
        }
        self.payload = UInt8(payload)
        clockRate = UInt32(clock)
        channels = UInt8(max(encoding.number(upTo: 255) ?? 1, 1))
    }
}

/// network family address[/ttl]
struct ConnectionField {
    let address: IPAddress?
    let lacksAddress: Bool

    init(_ value: Field) {
        var rest = value
        let network = rest.nextToken()
        _ = rest.nextToken()
        var text = rest.nextToken()
        lacksAddress = text.isEmpty
        address = network.equals("IN") ? text.splitting(at: UInt8(ascii: "/")).address : nil
    }
}

extension MediaDirection {
    init?(_ name: Field) {
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

extension RTCPPort {
    fileprivate init?(_ value: Field) {
        var rest = value
        guard let port = rest.nextToken().number(upTo: 65_535) else { return nil }
        self.init(port: UInt16(port))
        let network = rest.nextToken()
        guard !network.isEmpty else { return }
        let family = rest.nextToken()
        address = rest.nextToken().address
        guard network.equals("IN"), family.equals("IP4") || family.equals("IP6"), address != nil else { return nil }
    }
}
