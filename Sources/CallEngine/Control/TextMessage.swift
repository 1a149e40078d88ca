// Texts by MESSAGE (RFC 3428), in both directions, and bodies by INFO.

/// A text that came.
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

/// The texts that came in a call. Belongs to the call's loop.
package final class TextInbox {
    /// The latest, in their order.
    package private(set) var all: [String] = []
    /// How many of them nobody has waited for and got.
    private var left = 0
    /// Hears of each that comes.
    package var onText: (() -> Void)?
    /// Older ones are forgotten.
    package static let capacity = 20

    package init() {}

    package func receive(_ text: String) {
        if all.count == Self.capacity { all.removeFirst() }
        all.append(text)
        left = min(left + 1, Self.capacity)
        onText?()
    }

    /// Those that wait, the oldest first.
    package var waiting: ArraySlice<String> { all.suffix(left) }

    /// Takes so many of those that wait, the oldest ones.
    package func take(_ count: Int) { left -= min(count, left) }
}

/// A text to be sent.
package struct TextRequest: Sendable {
    /// The request that has it.
    package enum Carrier: Equatable, Sendable {
        case message
        /// In the call alone; `package`: an Info-Package (RFC 6086), empty for none.
        case info(package: String)
    }

    package var carrier = Carrier.message
    /// What the flow calls it, for errors.
    package var operation: String { carrier == .message ? "send-message" : "send-info" }
    /// To whom: as a target of a bridge; nil: to the far side of the call, in its dialog.
    package var target: String?
    package var text: String
    /// Content-Type; what is none is not sent (`isMediaType`).
    package var type = "text/plain"
    /// Who sends it, outside of a call: a URI, or a number or user at this host; nil: the line, or this product's name.
    package var from: String?
    /// How long its answer is waited for.
    package var timeout = Duration.seconds(10)

    /// Octets of a whole MESSAGE at most: nobody knows what is on the way (RFC 3428 section 8).
    package static let limit = 1300

    package init(_ text: String, to target: String? = nil) {
        self.text = text
        self.target = target
    }

    /// `text/plain`, with parameters or without (RFC 3261 section 25.1).
    package static func isMediaType(_ type: String) -> Bool {
        let parts = type.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
        let isToken = { (part: Substring) in
            !part.isEmpty && part.utf8.allSatisfy { $0 > 32 && $0 < 127 && !"()<>@,;:\\\"/[]?={}".utf8.contains($0) }
        }
        return parts.count == 2 && parts.allSatisfy(isToken) && type.utf8.allSatisfy { $0 >= 32 && $0 != 127 }
    }
}

/// What became of a text that was sent.
package struct TextResult: Equatable, Sendable {
    package enum Outcome: String, Sendable, CaseIterable {
        /// Its receiver has it.
        case delivered
        /// A server has taken it, to deliver it when it can (202).
        case accepted
        /// The final answer was another one.
        case refused
        /// None came in time.
        case noAnswer = "no-answer"
        /// There is no way to the target, or nobody behind it.
        case unreachable
    }

    package var outcome: Outcome
    /// The status of the final answer; 0 without one.
    package var status: Int
    /// The words of the answer, or why there is none.
    package var reason: String

    package init(_ outcome: Outcome, status: Int = 0, reason: String = "") {
        self.outcome = outcome
        self.status = status
        self.reason = reason
    }

    /// Of several devices of one user, the best speaks for all.
    static func better(_ one: TextResult, _ other: TextResult) -> TextResult {
        let order = Outcome.allCases
        return order.firstIndex(of: one.outcome)! <= order.firstIndex(of: other.outcome)! ? one : other
    }
}
