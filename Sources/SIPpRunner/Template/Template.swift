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
        case messageIndex(offset: Int)
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
    package let isACK: Bool
    package let isCANCEL: Bool
    package let isINVITE: Bool

    package init(_ segments: [Segment]) {
        self.segments = segments
        var head: [UInt8] = []
        if case .literal(let octets)? = segments.first { head = octets }
        method = Array(head.prefix { $0 != UInt8(ascii: " ") })
        isResponse = head.starts(with: "SIP/2.0".utf8)
        isACK = method.elementsEqual("ACK".utf8)
        isCANCEL = method.elementsEqual("CANCEL".utf8)
        isINVITE = method.elementsEqual("INVITE".utf8)
    }

    package init(text: String) { self.init([.literal(Array(text.utf8))]) }

    /// The same with the run's constants written in.
    package func bound(_ constant: (Constant) -> String) -> Template {
        Template(Self.bound(segments, constant))
    }

    /// The same with the port of the one socket that all calls have.
    func bound(localPort: Int) -> Template {
        var result: [Segment] = []
        for segment in segments {
            var piece = segment
            if case .localPort(let offset) = segment { piece = .literal(Array("\(localPort &+ offset)".utf8)) }
            Self.append(piece, to: &result)
        }
        return Template(result)
    }

    /// Literals that follow each other become one.
    private static func append(_ segment: Segment, to result: inout [Segment]) {
        guard case .literal(let octets) = segment, case .literal(let before)? = result.last else { return result.append(segment) }
        result[result.count - 1] = .literal(before + octets)
    }

    private static func bound(_ segments: [Segment], _ constant: (Constant) -> String) -> [Segment] {
        var result: [Segment] = []
        for segment in segments {
            switch segment {
            case .constant(let name, let offset):
                let value = constant(name)
                let text = offset == 0 ? value : Int(value).map { String($0 &+ offset) } ?? value
                append(.literal(Array(text.utf8)), to: &result)
            case .branch(let offset):
                append(.literal(Array("z9hG4bK-\(constant(.processID))-".utf8)), to: &result)
                result += [.callNumber(offset: 0), .literal([UInt8(ascii: "-")]), .messageIndex(offset: offset)]
            case .field(let number, let file, let line):
                result.append(.field(number, file: bound(file, constant), line: bound(line, constant)))
            case .file(let name):
                result.append(.file(bound(name, constant)))
            case .authentication(let p):
                result.append(
                    .authentication(
                        Authentication(
                            user: bound(p.user, constant), password: bound(p.password, constant), akaK: bound(p.akaK, constant),
                            akaOP: bound(p.akaOP, constant), akaAMF: bound(p.akaAMF, constant))))
            default: append(segment, to: &result)
            }
        }
        return result
    }
}
