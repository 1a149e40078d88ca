/// A text that came by MESSAGE (RFC 3428).
package struct TextMessage: Equatable, Sendable {
    package var from: CallParty
    package var to: CallParty
    package var text: String
    /// The call in whose dialog it came; empty without one.
    package var call: String
    /// The line that it came by, or the registrar's user who sent it; empty without.
    package var line = ""
    package var user = ""

    package init(from: CallParty, to: CallParty, text: String, call: String = "") {
        self.from = from
        self.to = to
        self.text = text
        self.call = call
    }
}
