// Which dialog of its receiver a request outside of dialogs is about: the one that an INVITE takes the place of (Replaces, RFC 3891), and
// the one whose knowledge gives a request its right (Target-Dialog, RFC 4538).

/// A dialog as its other end names it.
package struct DialogReference: Equatable, Sendable {
    package var callID: [UInt8]
    /// The tag of the end that receives the request.
    package var localTag: [UInt8]
    /// Empty for a dialog with an end of RFC 2543, which gave no tag.
    package var remoteTag: [UInt8]
    /// Only a dialog that is not answered yet is meant (early-only).
    package var isEarlyOnly = false

    /// What an INVITE wants to replace; nil without Replaces. Throws when there are several, or one that cannot be read: answer 400
    /// (RFC 3891 section 3).
    package init?(replacesOf request: Message) throws(ParseError) {
        try self.init(request, request.values(.replaces), local: "to-tag", remote: "from-tag")
        isEarlyOnly = request.parameters(in: request.values(.replaces)[0]).has("early-only")
    }

    /// The dialog that Target-Dialog names; nil without one. Its tags are called as the sender sees them (RFC 4538 section 7). Throws
    /// as the other does.
    package init?(targetOf request: Message) throws(ParseError) {
        try self.init(request, request.values(named: "Target-Dialog"), local: "remote-tag", remote: "local-tag")
    }

    private init?(_ request: Message, _ values: [OctetRange], local: StaticString, remote: StaticString) throws(ParseError) {
        guard let value = values.first else { return nil }
        guard values.count == 1 else { throw ParseError(.duplicateHeader, at: Int(values[1].start)) }
        let parameters = request.parameters(in: value)
        let name = request[value].prefix { $0 != Octet.semicolon && !Octet.isBlank($0) }
        guard !name.isEmpty, let local = parameters[local], !local.isEmpty, let remote = parameters[remote], !remote.isEmpty
        else { throw ParseError(.parameter, at: Int(value.start)) }
        callID = Array(name)
        localTag = Array(local)
        // "0" stands for no tag (RFC 3891 section 3).
        remoteTag = remote.elementsEqual("0".utf8) ? [] : Array(remote)
    }
}

extension InviteSession {
    /// Why the dialog may not be replaced (RFC 3891 section 3): 481 when there is none such, or it rings here; 603 when it is over; 486 when
    /// it is answered, and only one that is not was meant. nil: it may.
    package func refusal(ofReplacing reference: DialogReference) -> Int? {
        guard isBetween(reference) else { return 481 }
        switch state {
        case .ending, .ended: return 603
        case .calling: return 481
        case .early: return isCaller ? nil : 481
        case .answered, .confirmed: return reference.isEarlyOnly ? 486 : nil
        }
    }

    /// Whether one of its dialogs is the one that is named.
    package func isBetween(_ reference: DialogReference) -> Bool {
        guard reference.localTag == localTag, reference.callID.elementsEqual(callID) else { return false }
        if let dialog { return dialog.remoteTag == reference.remoteTag }
        return earlyDialogs.contains { $0.dialog.remoteTag == reference.remoteTag }
    }
}
