// A dialog (RFC 3261 section 12): who the two ends are, the numbers of their requests, the way between them. A value.
// Made from an INVITE and its response, by either side; requests in it are built in DialogRequests.swift.

/// A dialog.
package struct Dialog: Sendable {
    package enum State: Sendable { case early, confirmed }

    package var state: State
    /// True when this end sent the INVITE.
    package let isCaller: Bool
    package let callID: [UInt8]
    package let localTag: [UInt8]
    /// Empty for peers of RFC 2543 that give no tag.
    package let remoteTag: [UInt8]
    /// The values of From (or To) for this end and the other, with tags.
    package let local: [UInt8]
    package let remote: [UInt8]
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
        isCaller = false
        state = .early
        callID = Array(request.callID)
        self.localTag = localTag
        remoteTag = Array(try request.from().tag ?? [])
        remote = Array(request.fromValue)
        var to = Array(request.toValue)
        if try request.to().tag == nil { to += Array(";tag=".utf8) + localTag }
        local = to
        localCSeq = 0
        remoteCSeq = request.cSeq
        remoteTarget = []
        routes = request.values(.recordRoute).map { Dialog.route(request[$0]) }
        guard let contact = try request.firstContact(), !contact.isWildcard else { throw ParseError(.missingHeader, at: 0) }
        let uri = try contact.uri()
        guard uri.scheme != .other else { throw ParseError(.scheme, at: Int(contact.uriRange.start)) }
        remoteTarget = Array(uri.octetsOfURI)
    }

    /// The calling end's side, from its INVITE and a response with a tag (section 12.1.2): the route set is Record-Route of the
    /// response, reversed; Route of the INVITE does not count. Without Contact the INVITE's own target stays.
    package init(placing request: Message, response: Message) throws(ParseError) {
        isCaller = true
        state = response.status >= 200 ? .confirmed : .early
        callID = Array(request.callID)
        localTag = Array(try request.from().tag ?? [])
        remoteTag = Array(try response.to().tag ?? [])
        local = Array(request.fromValue)
        remote = Array(response.toValue)
        localCSeq = request.cSeq
        remoteCSeq = nil
        routes = response.values(.recordRoute).reversed().map { Dialog.route(response[$0]) }
        remoteTarget = Array(request.requestURIOctets)
        refreshTarget(response)
    }

    /// A value of Record-Route as one of Route; one without <> gets them (its parameters are then the URI's).
    private static func route(_ value: ArraySlice<UInt8>) -> [UInt8] {
        value.contains(Octet.less) ? Array(value) : [Octet.less] + value + [Octet.greater]
    }

    /// True when a request or response with these tags is the dialog's. Tags are compared octet by octet.
    package func matches(localTag: some Sequence<UInt8>, remoteTag: some Sequence<UInt8>) -> Bool {
        self.localTag.elementsEqual(localTag) && self.remoteTag.elementsEqual(remoteTag)
    }

    /// True when a request from the other end belongs to the dialog.
    package func matches(request: Message) -> Bool {
        request.callID.elementsEqual(callID)
            && matches(localTag: (try? request.to().tag) ?? [], remoteTag: (try? request.from().tag) ?? [])
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
        guard let contact = try? message.firstContact(), let uri = try? contact.uri(), uri.isSIP || uri.scheme == .tel
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
