// A session description (RFC 8866) as a value: what offer/answer needs as fields, every other attribute kept as it was written.
// Lines that no part of this program uses (i=, u=, e=, p=, t=, r=, z=, k=) are not kept.

package import Basics

/// A whole description: the session part and its media, in order.
package struct SessionDescription: Equatable, Sendable {
    /// o=, nil when it was missing.
    package var origin: Origin?
    /// s=, "" when it was missing or blank.
    package var sessionName: String
    /// c= of the session part: what media without a c= of their own use.
    package var connection: ConnectionData?
    /// b= of the session part, without the `b=`.
    package var bandwidths: [String]
    /// Direction for media without one of their own; nil means none was written (sendrecv).
    package var direction: MediaDirection?
    /// Every other a= of the session part, in order.
    package var attributes: [Attribute]
    /// m= parts, in order. An answer has the same number of them, in the same order, as its offer (RFC 3264 section 6).
    package var media: [MediaDescription]

    package init(
        origin: Origin? = nil, sessionName: String = "-", connection: ConnectionData? = nil, bandwidths: [String] = [],
        direction: MediaDirection? = nil, attributes: [Attribute] = [], media: [MediaDescription] = []
    ) {
        self.origin = origin
        self.sessionName = sessionName
        self.connection = connection
        self.bandwidths = bandwidths
        self.direction = direction
        self.attributes = attributes
        self.media = media
    }

    /// The direction of a medium: its own, else the session's, else sendrecv (RFC 8866 section 6.7).
    package func direction(of media: MediaDescription) -> MediaDirection {
        media.direction ?? direction ?? .sendrecv
    }

    /// The c= that holds for a medium: its own, else the session's.
    package func connection(of media: MediaDescription) -> ConnectionData? {
        media.connection ?? connection
    }

    /// The address that a medium's packets go to. A c= without any address falls back to the session's c= and then to o=, as devices
    /// that truncate the line still send a usable o=. Nil for host names, other networks and descriptions without an address.
    package func address(of media: MediaDescription) -> IPAddress? {
        for connection in [media.connection, connection] {
            guard let connection, !connection.lacksAddress else { continue }
            return connection.address
        }
        guard let address = origin?.address, !address.isUnspecified else { return nil }
        return address
    }
}

/// o=: who made the description. Kept as text, since devices put words in the number fields or leave fields out.
package struct Origin: Equatable, Sendable {
    /// Everything after `o=`.
    package var text: String

    package init(text: String) { self.text = text }

    /// A complete one without a user name, for packets that go to `connection`.
    package init(sessionID: UInt64, version: UInt64, connection: ConnectionData) {
        text = "- "
        text.reserveCapacity(48 + connection.text.utf8.count)
        text += String(sessionID)
        text += " "
        text += String(version)
        text += " "
        text += connection.text
    }

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

    package init(text: String) {
        self.text = text
        let fields = text.split(separator: " ", omittingEmptySubsequences: true)
        lacksAddress = fields.count < 3
        guard fields.count >= 3, fields[0] == "IN" else {
            address = nil
            return
        }
        let bare = fields[2].prefix { $0 != "/" }
        address = IPAddress(bare)
    }

    package init(address: IPAddress) {
        switch address {
        case .v6: text = "IN IP6 " + address.description
        case .v4(let value):
            // Each call writes one; text interpolation costs ten times as much.
            var bytes = Array("IN IP4 ".utf8)
            bytes.reserveCapacity(24)
            for shift in [UInt32(24), 16, 8, 0] {
                bytes.append(number: Int(value >> shift & 255))
                if shift > 0 { bytes.append(UInt8(ascii: ".")) }
            }
            text = String(decoding: bytes, as: UTF8.self)
        }
        self.address = address
        lacksAddress = false
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
