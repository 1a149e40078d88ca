/// How a call ended: a closed value, not an error. It knows its SIP status, its name in results and whether trying again makes sense.
package struct CallEnd: Equatable, Sendable {
    /// Who ended it.
    package enum Party: String, CaseIterable, Sendable {
        case caller
        case callee
        case engine
    }

    package enum Cause: String, Sendable, CaseIterable {
        case normal
        case busy
        case noAnswer = "no-answer"
        case rejected
        case unreachable
        case cancelled
        case timeout
        case mediaTimeout = "media-timeout"
        case error
    }

    package var by: Party
    package var cause: Cause
    /// More words for a person; never a secret.
    package var detail: String

    package init(by: Party, cause: Cause, detail: String = "") {
        self.by = by
        self.cause = cause
        self.detail = detail
    }

    /// The cause that a final answer to our INVITE stands for (RFC 3261, section 21).
    package static func cause(ofStatus status: Int) -> Cause {
        switch status {
        case 486, 600: .busy
        case 408, 480: .noAnswer
        case 487: .cancelled
        case 404, 410, 484, 485, 502, 503, 504, 604: .unreachable
        default: .rejected
        }
    }

    /// Whether a later attempt may fare better.
    package var mayRetry: Bool {
        switch cause {
        case .busy, .noAnswer, .unreachable, .timeout, .mediaTimeout: true
        case .normal, .rejected, .cancelled, .error: false
        }
    }
}
