// One m= part of a session description (RFC 8866 section 5.14) with the attributes that belong to it.

package import Basics

/// m= and the lines after it, read where they stand.
package struct MediaDescription: Sendable {
    private let description: SessionDescription
    /// The m= line and what follows up to the next one.
    private let lines: Range<Int>

    init(description: SessionDescription, lines: Range<Int>) {
        self.description = description
        self.lines = lines
    }

    func read<Result>(_ body: (PartLines) -> Result) -> Result { description.read { body($0.part(lines)) } }

    /// `audio`, `video`, `image`, `text`, `application`, `message`.
    package var kind: String { read { $0.medium.kind.string } }
    /// 0: the stream is refused or ended (RFC 3264 section 6).
    package var port: UInt16 { read { $0.medium.port } }
    /// The number after `port/`; 1 when there is none.
    package var portCount: UInt16 { read { $0.medium.portCount } }
    /// The proto field as written, such as `RTP/AVP`.
    package var transport: String { read { $0.medium.transport.string } }
    /// The fmt list: payload numbers for RTP, other words for other protos; devices leave it empty when the port is 0.
    package var formats: [String] { read { $0.medium.formats.tokens.map(\.string) } }
    package var connection: ConnectionData? { read { $0.connection } }
    /// b= lines, without the `b=`.
    package var bandwidths: [String] { read { $0.all(.bandwidth).map(\.string) } }
    /// a=rtpmap lines with a payload number, in order.
    package var rtpMaps: [RTPMap] { read { $0.all(.rtpMap).compactMap { MapField($0).map(RTPMap.init) } } }
    /// a=fmtp lines, in order.
    package var formatParameters: [FormatParameters] {
        read {
            $0.all(.formatParameters).compactMap { field in
                var rest = field
                let format = rest.nextToken()
                return format.isEmpty ? nil : FormatParameters(format: format.string, text: rest.trimmed().string)
            }
        }
    }
    /// a=ptime in milliseconds, 1 to 1000.
    package var packetTime: Int? { read { $0.milliseconds(.packetTime) } }
    /// a=maxptime in milliseconds, 1 to 1000.
    package var maximumPacketTime: Int? { read { $0.milliseconds(.maximumPacketTime) } }
    package var direction: MediaDirection? { read { $0.direction } }
    /// a=rtcp (RFC 3605).
    package var rtcp: RTCPPort? { read { $0.rtcp } }
    /// a=rtcp-mux (RFC 5761).
    package var rtcpMux: Bool { read { $0.last(.rtcpMux) != nil } }
    /// Every other a=, in order: crypto, fingerprint, setup, ice-*, candidate, mid, unknown ones, and known ones that make no sense.
    package var attributes: [Attribute] { read { $0.attributes } }

    /// The rtpmap of a payload number; the first when there are several.
    package func rtpMap(of payload: UInt8) -> RTPMap? { read { $0.map(of: payload).map(RTPMap.init) } }

    /// The fmtp text of a format, without the format.
    package func parameters(of format: String) -> String? { formatParameters.first { $0.format == format }?.text }

    /// The values of all raw attributes with this name.
    package func values(of name: String) -> [String] { attributes.compactMap { $0.name == name ? $0.value ?? "" : nil } }

    /// The number of b= with this modifier (`RS`, `RR`, `AS`, …).
    package func bandwidth(_ modifier: StaticString) -> Int? { read { $0.bandwidth(modifier) } }
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

    init(_ field: MapField) {
        self.init(payload: field.payload, name: field.name.string, clockRate: field.clockRate, channels: field.channels)
    }
}

/// a=fmtp:format text.
package struct FormatParameters: Equatable, Sendable {
    package var format: String
    package var text: String
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
