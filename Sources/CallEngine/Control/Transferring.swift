/// Where a call is sent away to, by REFER (RFC 3515, RFC 5589).
package struct TransferRequest: Sendable {
    /// A `sip:` or `tel:` URI.
    package var target: String
    /// Attended: the target is called and has answered first; then the two are joined (Replaces, RFC 3891). Blind otherwise.
    package var isAttended: Bool
    /// How long the target may ring, and how long the far side's progress is waited for.
    package var timeout: Duration
    /// What the far side hears while the target of an attended transfer is called; nil: silence.
    package var music: AudioSource?

    package init(target: String, isAttended: Bool = false, timeout: Duration = .seconds(30), music: AudioSource? = nil) {
        self.target = target
        self.isAttended = isAttended
        self.timeout = timeout
        self.music = music
    }
}

package struct TransferResult: Equatable, Sendable {
    package enum Outcome: String, Sendable, CaseIterable {
        /// The far side is connected with the target; this end may hang up.
        case transferred
        /// The far side does not take a REFER.
        case refused
        case busy
        case noAnswer = "no-answer"
        case rejected
        case unreachable
    }

    package var outcome: Outcome
    /// The status that the far side or the target gave; 0 without one.
    package var status: Int

    package init(outcome: Outcome, status: Int) {
        self.outcome = outcome
        self.status = status
    }

    /// What a final status of the target means.
    package static func outcome(ofStatus status: Int) -> Outcome {
        if (200..<300).contains(status) { return .transferred }
        switch CallEnd.cause(ofStatus: status) {
        case .busy: return .busy
        case .noAnswer, .cancelled, .timeout: return .noAnswer
        case .unreachable: return .unreachable
        default: return .rejected
        }
    }
}
