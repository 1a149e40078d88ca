// A session description (RFC 8866): its octets and an index of their lines. What a line says is read when somebody asks, as with SIP
// messages, so that the offer of a call costs one walk over it. Lines that no part of this program uses (i=, u=, e=, p=, t=, r=, z=,
// k=) are not in the index.

package import Basics

/// A whole description: the session part and its media, in order.
package struct SessionDescription: Sendable {
    /// The body as it came; shares the buffer of the message that it is part of.
    let octets: ArraySlice<UInt8>
    /// Places count from the beginning of `octets`.
    let lines: [Line]
    /// m= lines.
    package let mediaCount: Int

    init(octets: ArraySlice<UInt8>, lines: [Line], mediaCount: Int) {
        self.octets = octets
        self.lines = lines
        self.mediaCount = mediaCount
    }

    /// Hands the lines to `body`, which must not keep them.
    func read<Result, Failure: Error>(_ body: (DescriptionLines) throws(Failure) -> Result) throws(Failure) -> Result {
        try octets.withUnsafeBufferPointer { (bytes) throws(Failure) in
            try lines.withUnsafeBufferPointer { (lines) throws(Failure) in
                try body(DescriptionLines(bytes: UnsafeRawBufferPointer(bytes), lines: lines))
            }
        }
    }

    private func readSession<Result>(_ body: (PartLines) -> Result) -> Result { read { body($0.session) } }

    /// The body.
    package var bytes: [UInt8] { Array(octets) }
    /// o=, nil when it is missing.
    package var origin: Origin? { readSession { $0.last(.origin).map { Origin(text: $0.string) } } }
    /// s=, "" when it is missing or blank.
    package var sessionName: String { readSession { $0.last(.name)?.string ?? "" } }
    /// c= of the session part: what media without a c= of their own use.
    package var connection: ConnectionData? { readSession { $0.connection } }
    /// b= of the session part, without the `b=`.
    package var bandwidths: [String] { readSession { $0.all(.bandwidth).map(\.string) } }
    /// Direction for media without one of their own; nil means none was written (sendrecv).
    package var direction: MediaDirection? { readSession { $0.direction } }
    /// Every other a= of the session part, in order.
    package var attributes: [Attribute] { readSession { $0.attributes } }

    /// m= parts, in order. An answer has the same number of them, in the same order, as its offer (RFC 3264 section 6).
    package var media: [MediaDescription] {
        let starts = lines.indices.filter { lines[$0].kind == .media } + [lines.count]
        return zip(starts, starts.dropFirst()).map { MediaDescription(description: self, lines: $0..<$1) }
    }

    /// The direction of a medium: its own, else the session's, else sendrecv (RFC 8866 section 6.7).
    package func direction(of media: MediaDescription) -> MediaDirection { media.direction ?? direction ?? .sendrecv }

    /// The c= that holds for a medium: its own, else the session's.
    package func connection(of media: MediaDescription) -> ConnectionData? { media.connection ?? connection }

    /// The address that a medium's packets go to; see `DescriptionLines.address`.
    package func address(of media: MediaDescription) -> IPAddress? { media.read { medium in read { $0.address(of: medium) } } }
}

extension SessionDescription: Equatable {
    package static func == (left: SessionDescription, right: SessionDescription) -> Bool { left.octets == right.octets }
}

/// o=: who made the description. Kept as text, since devices put words in the number fields or leave fields out.
package struct Origin: Equatable, Sendable {
    /// Everything after `o=`.
    package var text: String

    package init(text: String) { self.text = text }

    /// The last field, when it is an address and the network type is IN.
    package var address: IPAddress? {
        let fields = text.split(separator: " ")
        guard fields.count >= 4, fields[fields.count - 3] == "IN" else { return nil }
        return fields.last.flatMap { IPAddress($0) }
    }

    /// sess-version, when all six fields are there and it is a number. It rises with every changed description.
    package var version: UInt64? {
        let fields = text.split(separator: " ")
        return fields.count >= 6 ? UInt64(fields[2]) : nil
    }
}

/// c=: where packets go.
package struct ConnectionData: Equatable, Sendable {
    /// Everything after `c=`.
    package let text: String
    /// The address without TTL; nil for a host name, another network type or a line that is cut short.
    package let address: IPAddress?
    /// The line ends before the address.
    package let lacksAddress: Bool

    init(text: String, address: IPAddress?, lacksAddress: Bool) {
        self.text = text
        self.address = address
        self.lacksAddress = lacksAddress
    }
}

/// a=name or a=name:value.
package struct Attribute: Equatable, Sendable {
    package var name: String
    /// nil for a property attribute (without a colon).
    package var value: String?

    package init(_ name: String, _ value: String? = nil) {
        self.name = name
        self.value = value
    }
}

/// Who sends, seen from the one who wrote the description (RFC 3264 section 5.1).
package enum MediaDirection: String, Hashable, Sendable, CaseIterable {
    case sendrecv
    case sendonly
    case recvonly
    case inactive

    package var sends: Bool { self == .sendrecv || self == .sendonly }
    package var receives: Bool { self == .sendrecv || self == .recvonly }

    package init(sends: Bool, receives: Bool) {
        self = sends ? (receives ? .sendrecv : .sendonly) : (receives ? .recvonly : .inactive)
    }

    /// The same stream seen from the other side.
    package var reversed: MediaDirection { MediaDirection(sends: receives, receives: sends) }
}
