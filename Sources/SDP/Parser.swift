// Reads the lines of a session description (RFC 8866), as leniently as devices need: LF or CR alone as line end, blanks before and
// after a line, missing o= s= t=, lines in the wrong order, lines that are no `x=` lines and unknown letters (skipped).
// What it does not do: look into lines further than m= and the names of attributes; judge an address or codec: offer/answer does.

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

/// A line of the index: what it is, and where its value stands.
struct Line: Sendable {
    enum Kind: UInt8, Sendable {
        case origin, name, connection, bandwidth, media
        /// Attributes of a medium that have a meaning of their own; `direction` also of the session part, the name is the value.
        case rtpMap, formatParameters, packetTime, maximumPacketTime, rtcp, rtcpMux, direction
        /// Every other a=, name and value.
        case attribute
    }

    var kind: Kind
    var start: UInt32
    var end: UInt32
}

extension SessionDescription {
    /// Parses a body. Errors: the description is hopeless as a whole; bad single lines are skipped instead.
    package init(parsing bytes: some Sequence<UInt8>) throws(SDPError) {
        try self.init(parsing: ArraySlice(Array(bytes)))
    }

    /// Parses a body in place.
    package init(parsing octets: ArraySlice<UInt8>) throws(SDPError) {
        self = try octets.withUnsafeBufferPointer { (bytes) throws(SDPError) in
            var indexer = LineIndexer(bytes: UnsafeRawBufferPointer(bytes))
            try indexer.run()
            return SessionDescription(octets: octets, lines: indexer.lines, mediaCount: indexer.mediaCount)
        }
    }
}

/// Walks over the lines once.
private struct LineIndexer {
    let bytes: UnsafeRawBufferPointer
    var lines: [Line] = []
    var mediaCount = 0
    private var number = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func run() throws(SDPError) {
        guard bytes.count <= 65_536 else { throw SDPError(.tooLarge, line: 1) }
        lines.reserveCapacity(24)
        var position = 0
        var sawVersion = false
        while position < bytes.count {
            var end = position
            // Most octets are above both.
            while end < bytes.count, bytes[end] > carriageReturn || bytes[end] != lineFeed && bytes[end] != carriageReturn {
                end += 1
            }
            var next = end + 1
            if next < bytes.count, bytes[end] == carriageReturn, bytes[next] == lineFeed { next += 1 }
            number += 1
            guard number <= 4096 else { throw SDPError(.tooLarge, line: number) }
            let text = Field(bytes, position, end)
            position = next
            guard !text.isEmpty else { continue }
            guard sawVersion else {
                guard text.count >= 3, text[0] == UInt8(ascii: "v"), text[1] == equals, text.dropping(2).equals("0") else {
                    throw SDPError(.notSDP, line: number)
                }
                sawVersion = true
                continue
            }
            if text.count >= 2, text[1] == equals { try take(text[0], text.dropping(2)) }
        }
        guard sawVersion else { throw SDPError(.empty, line: max(number, 1)) }
    }

    private mutating func take(_ letter: UInt8, _ value: Field) throws(SDPError) {
        switch letter {
        case UInt8(ascii: "a"): takeAttribute(value)
        case UInt8(ascii: "c"): add(.connection, value)
        case UInt8(ascii: "b"): add(.bandwidth, value)
        case UInt8(ascii: "o") where mediaCount == 0: add(.origin, value)
        case UInt8(ascii: "s") where mediaCount == 0: add(.name, value)
        case UInt8(ascii: "m"):
            guard mediaCount < 64 else { throw SDPError(.tooLarge, line: number) }
            guard MediumField(value) != nil else { throw SDPError(.badMediaLine, line: number) }
            mediaCount += 1
            add(.media, value)
        default: break
        }
    }

    private mutating func takeAttribute(_ value: Field) {
        guard !value.isEmpty else { return }
        var rest = value
        let name = rest.splitting(at: UInt8(ascii: ":"))
        guard name.count < value.count else {
            if MediaDirection(name) != nil { return add(.direction, name) }
            return add(mediaCount > 0 && name.equals("rtcp-mux") ? .rtcpMux : .attribute, value)
        }
        guard mediaCount > 0, let kind = Self.kind(of: name) else { return add(.attribute, value) }
        add(kind, rest.trimmed())
    }

    private static func kind(of name: Field) -> Line.Kind? {
        if name.equals("rtpmap") { return .rtpMap }
        if name.equals("fmtp") { return .formatParameters }
        if name.equals("ptime") { return .packetTime }
        if name.equals("maxptime") { return .maximumPacketTime }
        return name.equals("rtcp") ? .rtcp : nil
    }

    private mutating func add(_ kind: Line.Kind, _ value: Field) {
        lines.append(Line(kind: kind, start: UInt32(value.start), end: UInt32(value.end)))
    }
}
