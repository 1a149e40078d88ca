package import SIP

/// A call to be placed.
package struct CallRequest: Sendable {
    /// A `sip:` URI; with a line also a bare number or user, which is called at the line's server.
    package var target: String
    /// The name of the line that it goes out through; nil: straight to the target's host.
    package var line: String?
    /// Who calls: a URI, or a number or user at this host; `anonymous`: nobody whom the callee may know; nil: the line's caller id, or
    /// this product's name.
    package var from: String?
    package var displayName: String
    /// The caller as a trusted network knows him, where that is another than `from`: a URI.
    package var identity: String?
    /// What the caller wants to keep private: the value of Privacy (RFC 3323); empty: nothing.
    package var privacy = ""
    /// Added to the INVITE; names that belong to the protocol are refused.
    package var headers: [CallHeader]
    /// The device of a registered user that is called; `target` then is for people only.
    package var device: Binding?
    /// Where the call has been that is sent on; nil: it begins here.
    var history: HistoryOfLeg?
    /// Whether what the call speaks that it will be connected with can be coded; nil: nobody knows. Codecs that could not be heard
    /// there are not offered.
    var partnerIsCoded: Bool?

    /// The codecs that are offered, best first, of those that its line allows; nil: all that this line allows.
    package var codecs: [String]?

    package init(
        target: String, line: String? = nil, from: String? = nil, displayName: String = "", headers: [CallHeader] = []
    ) {
        self.target = target
        self.line = line
        self.from = from
        self.displayName = displayName
        self.headers = headers
    }
}

extension CallRequest {
    /// The parts of `line:NAME/number`; nil for any other target.
    static func line(of target: String) -> (line: String, number: String)? {
        guard target.hasPrefix("line:") else { return nil }
        let parts = target.dropFirst(5).split(separator: "/", maxSplits: 1)
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
    }
}
