// Texts with keywords, compiled once. What is the same for the whole run is written into the literals when the addresses are known;
// what is left is looked up for each message.

/// A text with keywords in it.
package struct Template {
    /// A part of a text.
    package enum Segment {
        case literal([UInt8])
        /// Known once the run's addresses are.
        case constant(Constant, offset: Int)
        case callID
        case callNumber(offset: Int)
        case branch(offset: Int)
        case cSeq(offset: Int)
        case lastCSeq(offset: Int)
        case peerTag
        case routes
        case nextURL
        case lastRequestURI
        case lastMessage
        /// A header of the last message with its name; all its rows.
        case lastHeader(String)
        case messageIndex
        case clockTick
        case dynamicID
        case users
        case userID
        /// The length of the body.
        case length(offset: Int)
        case field(Int, file: [Segment], line: [Segment])
        case file([Segment])
        case variable(Int)
        case fill(variable: Int, text: [UInt8])
        case date
        case timestamp
        case authentication(Authentication)
        case mediaPort(offset: Int)
        case autoMediaPort(offset: Int)
        case streamPort(isVideo: Bool, offset: Int)
        case serverIP
        case localPort(offset: Int)
        /// A fresh SRTP master key in base64; `reuse` gives the one before.
        case masterKey(name: String, reuse: Int)
    }

    /// What a run knows once.
    package enum Constant: String, CaseIterable {
        case service
        case remoteHost = "remote_host"
        case remoteIP = "remote_ip"
        case remotePort = "remote_port"
        case localIP = "local_ip"
        case localIPType = "local_ip_type"
        case transport
        case mediaIP = "media_ip"
        case mediaIPType = "media_ip_type"
        case processID = "pid"
        case version = "sipp_version"
        case circuit = "tdmmap"
    }

    /// The parameters of `[authentication]`; empty ones come from the command line.
    package struct Authentication {
        package var user: [Segment] = []
        package var password: [Segment] = []
        package var akaK: [Segment] = []
        package var akaOP: [Segment] = []
        package var akaAMF: [Segment] = []
    }

    package var segments: [Segment]
    /// For sends: what the text begins with.
    package let method: [UInt8]
    package let isResponse: Bool

    package init(_ segments: [Segment]) {
        self.segments = segments
        var head: [UInt8] = []
        if case .literal(let octets)? = segments.first { head = octets }
        method = Array(head.prefix { $0 != UInt8(ascii: " ") })
        isResponse = head.starts(with: "SIP/2.0".utf8)
    }

    package init(text: String) { self.init([.literal(Array(text.utf8))]) }

    package var isACK: Bool { method == Array("ACK".utf8) }
    package var isCANCEL: Bool { method == Array("CANCEL".utf8) }
    package var isINVITE: Bool { method == Array("INVITE".utf8) }

    /// The same with the run's constants written in.
    package func bound(_ constant: (Constant) -> String) -> Template {
        Template(Self.bound(segments, constant))
    }

    private static func bound(_ segments: [Segment], _ constant: (Constant) -> String) -> [Segment] {
        var result: [Segment] = []
        for segment in segments {
            var octets: [UInt8]
            switch segment {
            case .literal(let literal): octets = literal
            case .constant(let name, let offset):
                let value = constant(name)
                octets = Array((offset == 0 ? value : Int(value).map { String($0 &+ offset) } ?? value).utf8)
            case .field(let number, let file, let line):
                result.append(.field(number, file: bound(file, constant), line: bound(line, constant)))
                continue
            case .file(let name):
                result.append(.file(bound(name, constant)))
                continue
            case .authentication(let p):
                result.append(
                    .authentication(
                        Authentication(
                            user: bound(p.user, constant), password: bound(p.password, constant), akaK: bound(p.akaK, constant),
                            akaOP: bound(p.akaOP, constant), akaAMF: bound(p.akaAMF, constant))))
                continue
            default:
                result.append(segment)
                continue
            }
            if case .literal(let before)? = result.last {
                result.removeLast()
                octets = before + octets
            }
            result.append(.literal(octets))
        }
        return result
    }
}
