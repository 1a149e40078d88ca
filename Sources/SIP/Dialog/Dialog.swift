// A dialog (RFC 3261 section 12): who the two ends are, the numbers of their requests, the way between them. A value.
// Made from an INVITE and its response, by either side; requests in it are built in DialogRequests.swift.

/// A dialog.
package struct Dialog: Sendable {
    package enum State: Sendable { case early, confirmed }

    package var state: State
    /// True when this end sent the INVITE.
    package let isCaller: Bool
    /// Empty for peers of RFC 2543 that give no tag.
    package let remoteTag: [UInt8]
    /// What our requests say of the dialog: the rows From, To and Call-ID, and the name of CSeq.
    let rows: [UInt8]
    /// The value of From in `rows`, and that of Call-ID.
    private let localRange: OctetRange
    private let callIDRange: OctetRange
    /// The number of our latest request; 0 before the first.
    package var localCSeq: UInt32
    /// The number of the other end's latest request; nil before the first.
    package private(set) var remoteCSeq: UInt32?
    /// Where requests go: the URI of the other end's Contact.
    package private(set) var remoteTarget: [UInt8]
    /// Values of Route in the order of our requests.
    package private(set) var routes: [[UInt8]]

    /// The called end's side, from the INVITE (section 12.1.1): the route set is Record-Route in its order.
    package init(answering request: Message, localTag: [UInt8]) throws(ParseError) {
        let from = try request.from()
        let to = try request.to()
        guard let contact = try request.firstContact(), !contact.isWildcard else { throw ParseError(.missingHeader, at: 0) }
        let uri = try contact.uri()
        guard uri.scheme != .other else { throw ParseError(.scheme, at: Int(contact.uriRange.start)) }
        self.init(
            isCaller: false, state: .early, local: request.toValue, newTag: to.tag == nil ? localTag : nil,
            remote: request.fromValue, callID: request.callID, remoteTag: Array(from.tag ?? []), target: Array(uri.octetsOfURI),
            routes: request.values(.recordRoute).map { Dialog.route(request[$0]) })
        remoteCSeq = request.cSeq
    }

    /// The calling end's side, from its INVITE and a response with a tag (section 12.1.2): the route set is Record-Route of the
    /// response, reversed; Route of the INVITE does not count. Without Contact the INVITE's own target stays.
    package init(placing invite: OutgoingInvite, response: Message) throws(ParseError) {
        let to = try response.to()
        self.init(
            isCaller: true, state: response.status >= 200 ? .confirmed : .early, local: invite.from[...], newTag: nil,
            remote: response.toValue, callID: invite.callID[...], remoteTag: Array(to.tag ?? []), target: [],
            routes: response.values(.recordRoute).reversed().map { Dialog.route(response[$0]) })
        localCSeq = invite.cSeq
        refreshTarget(response)
        if remoteTarget.isEmpty { remoteTarget = invite.uri }
    }

    /// - Parameter newTag: this end's tag, where `local` has none.
    private init(
        isCaller: Bool, state: State, local: ArraySlice<UInt8>, newTag: [UInt8]?, remote: ArraySlice<UInt8>,
        callID: ArraySlice<UInt8>, remoteTag: [UInt8], target: [UInt8], routes: [[UInt8]]
    ) {
        self.isCaller = isCaller
        self.state = state
        self.remoteTag = remoteTag
        self.routes = routes
        remoteTarget = target
        localCSeq = 0
        var writer = MessageWriter(capacity: local.count + remote.count + callID.count + 64)
        writer.append("From: ")
        let start = writer.octets.count
        writer.append(local)
        if let newTag {
            writer.append(";tag=")
            writer.append(newTag)
        }
        localRange = OctetRange(start, writer.octets.count)
        writer.endLine()
        writer.header("To", octets: remote)
        writer.append("Call-ID: ")
        callIDRange = OctetRange(writer.octets.count, writer.octets.count + callID.count)
        writer.append(callID)
        writer.append("\r\nCSeq: ")
        rows = writer.octets
    }

    package var callID: ArraySlice<UInt8> { rows[callIDRange.indices] }
    /// This end's value of From in our requests, of To in theirs, with its tag.
    package var local: ArraySlice<UInt8> { rows[localRange.indices] }

    /// A value of Record-Route as one of Route; one without <> gets them (its parameters are then the URI's).
    private static func route(_ value: ArraySlice<UInt8>) -> [UInt8] {
        value.contains(Octet.less) ? Array(value) : [Octet.less] + value + [Octet.greater]
    }

    /// True when a request from the other end belongs to the dialog. Tags are compared octet by octet.
    package func matches(request: Message) -> Bool {
        let localTag = (try? NameAddress(rows, localRange).tag) ?? []
        return request.callID == callID && (try? request.to().tag) ?? [] == localTag && isRemote(request)
    }

    /// Whether a response to a request of ours is of this dialog.
    func isRemote(answering response: Message) -> Bool {
        remoteTag.elementsEqual((try? response.to().tag) ?? [])
    }

    /// Whether the sender of a request that names this end is the dialog's other end. One without a tag (RFC 2543) is anybody.
    func isRemote(_ request: Message) -> Bool {
        remoteTag.isEmpty || remoteTag.elementsEqual((try? request.from().tag) ?? [])
    }

    /// Takes the number of a request from the other end. False when it is not above the last one: answer 500 (section 12.2.2).
    /// ACK and CANCEL have the number of their INVITE and are not checked.
    package mutating func accepts(_ request: Message) -> Bool {
        if request.method == .ack || request.method == .cancel { return true }
        if let remoteCSeq, request.cSeq <= remoteCSeq { return false }
        remoteCSeq = request.cSeq
        return true
    }

    /// Takes a new target from the Contact of a request or 2xx that refreshes it (INVITE, UPDATE), and on the first 2xx the
    /// final route set is the caller's to set by `confirm`.
    package mutating func refreshTarget(_ message: Message) {
        guard let contact = try? message.firstContact(), !contact.uriOctets.elementsEqual(remoteTarget),
            let uri = try? contact.uri(), uri.isSIP || uri.scheme == .tel
        else { return }
        remoteTarget = Array(uri.octetsOfURI)
    }

    /// The 2xx of an early dialog: route set and target are taken anew from it (section 13.2.2.4).
    package mutating func confirm(_ response: Message) {
        state = .confirmed
        guard isCaller else { return }
        routes = response.values(.recordRoute).reversed().map { Dialog.route(response[$0]) }
        refreshTarget(response)
    }
}

extension URI {
    /// The URI's octets.
    package var octetsOfURI: ArraySlice<UInt8> { octets[range.indices] }
}
