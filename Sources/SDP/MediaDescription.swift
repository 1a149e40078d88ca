// One m= part of a session description (RFC 8866 section 5.14) with the attributes that belong to it.

package import Basics

/// m= and the lines after it.
package struct MediaDescription: Equatable, Sendable {
    /// `audio`, `video`, `image`, `text`, `application`, `message`.
    package var kind: String
    /// 0: the stream is refused or ended (RFC 3264 section 6).
    package var port: UInt16
    /// The number after `port/`; 1 when there is none.
    package var portCount: UInt16
    /// The proto field as written, such as `RTP/AVP`.
    package var transport: String
    /// The fmt list: payload numbers for RTP, other words for other protos; devices leave it empty when the port is 0.
    package var formats: [String]
    package var connection: ConnectionData?
    /// b= lines, without the `b=`.
    package var bandwidths: [String] = []
    /// a=rtpmap lines with a payload number, in order.
    package var rtpMaps: [RTPMap] = []
    /// a=fmtp lines, in order.
    package var formatParameters: [FormatParameters] = []
    /// a=ptime in milliseconds, 1 to 1000.
    package var packetTime: Int?
    /// a=maxptime in milliseconds, 1 to 1000.
    package var maximumPacketTime: Int?
    package var direction: MediaDirection?
    /// a=rtcp (RFC 3605).
    package var rtcp: RTCPPort?
    /// a=rtcp-mux (RFC 5761).
    package var rtcpMux = false
    /// Every other a=, in order: crypto, fingerprint, setup, ice-*, candidate, mid, unknown ones, and known ones that make no sense.
    package var attributes: [Attribute] = []

    package init(kind: String, port: UInt16, portCount: UInt16 = 1, transport: String, formats: [String]) {
        self.kind = kind
        self.port = port
        self.portCount = portCount
        self.transport = transport
        self.formats = formats
    }

    /// The rtpmap of a payload number; the first when there are several.
    package func rtpMap(of payload: UInt8) -> RTPMap? { rtpMaps.first { $0.payload == payload } }

    /// The fmtp text of a format, without the format.
    package func parameters(of format: String) -> String? { formatParameters.first { $0.format == format }?.text }

    /// The values of all raw attributes with this name.
    package func values(of name: String) -> [String] { attributes.compactMap { $0.name == name ? $0.value ?? "" : nil } }

    /// The number of b= with this modifier (`RS`, `RR`, `AS`, …).
    package func bandwidth(_ modifier: String) -> Int? {
        for line in bandwidths where line.utf8.count > modifier.utf8.count + 1 && line.hasPrefix(modifier) {
            let rest = line.utf8.dropFirst(modifier.utf8.count)
            if rest.first == UInt8(ascii: ":") { return Int(Substring(rest.dropFirst())) }
        }
        return nil
    }
}

/// a=rtpmap:payload name/clock[/channels].
package struct RTPMap: Equatable, Sendable {
    /// 0 to 127.
    package var payload: UInt8
    /// As written; names are compared without regard to case.
    package var name: String
    /// Hz; more than 0.
    package var clockRate: UInt32
    /// 1 when not written.
    package var channels: UInt8

    package init(payload: UInt8, name: String, clockRate: UInt32, channels: UInt8 = 1) {
        self.payload = payload
        self.name = name
        self.clockRate = clockRate
        self.channels = channels
    }
}

/// a=fmtp:format text.
package struct FormatParameters: Equatable, Sendable {
    package var format: String
    package var text: String

    package init(format: String, text: String) {
        self.format = format
        self.text = text
    }
}

/// a=rtcp:port [IN IP4 address] (RFC 3605).
package struct RTCPPort: Equatable, Sendable {
    package var port: UInt16
    /// nil: the address of the stream.
    package var address: IPAddress?

    package init(port: UInt16, address: IPAddress? = nil) {
        self.port = port
        self.address = address
    }
}
