// The called half of a test, as a campaign's file says it: who is called through the system under test, where, and what then has to
// agree with the caller's half. Plain values.

package import FlowEngine

/// One party that is called.
package struct PartyPlan: Sendable {
    /// How often one test calls it.
    package enum Calls: String, CaseIterable, Sendable {
        case once
        case never
        /// Not at all, or once.
        case perhaps
    }

    /// What both halves have to agree about.
    package enum Agreement: String, CaseIterable, Sendable {
        /// The keys that one side pressed are those that the other heard.
        case digits
        /// What one side said, the other heard.
        case audio
        /// When one side hangs up, the other gets its BYE.
        case hangUp = "hang-up"
    }

    package var name: String
    /// The path of the flow; nil: a call is refused, which is what a party that is never called may do.
    package var flow: String?
    /// The user part, or number, of the Request-URI with which it is called; nil: any.
    package var number: Template?
    /// The line by which it is called; nil: any.
    package var line: String?
    /// Variables of its flow.
    package var vars: [(name: String, value: Template)] = []
    package var calls = Calls.once
    /// From the caller's INVITE to its own.
    package var within = Duration.seconds(30)
    package var agrees = Set(Agreement.allCases)

    package init(name: String, flow: String?) {
        self.name = name
        self.flow = flow
    }

    /// Both halves are recorded for it.
    package var comparesAudio: Bool { agrees.contains(.audio) && flow != nil }
}

/// The mark by which a called half is known again: a header of the caller's INVITE that the system under test may pass on.
package struct PartyMark: Equatable, Sendable {
    package var header: String

    /// Passed on by few systems unasked, and harmless to all.
    package static let usual = PartyMark(header: "X-Ringwright-Test")

    package init(header: String) { self.header = header }

    private var isUserToUser: Bool { header.lowercased() == "user-to-user" }

    /// The header's value for a token of hexadecimal digits. User-to-User begins with a protocol discriminator, 0: it is the user's own
    /// (RFC 7433 section 4, ITU-T Q.931 section 4.5.30).
    func value(_ token: String) -> String { isUserToUser ? "00\(token);encoding=hex" : token }

    /// The token in a header's value.
    func token(in value: String) -> String {
        let word = value.prefix { $0 != ";" && !$0.isWhitespace }.lowercased()
        return isUserToUser && word.hasPrefix("00") ? String(word.dropFirst(2)) : word
    }
}
