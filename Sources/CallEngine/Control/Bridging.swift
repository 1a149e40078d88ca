/// Whom to connect with a call, and how.
package struct BridgeRequest {
    package enum Order: String, Sendable, CaseIterable {
        /// All at once; the first to answer wins, the others are cancelled.
        case all
        case sequence
        /// As `sequence`, each call beginning one further.
        case rotate
    }

    /// What the caller hears while the targets ring: exactly one of these.
    package enum Ringback: Equatable, Sendable {
        /// The far side's early media when there is any, a tone otherwise.
        case automatic
        case source(AudioSource)
        case silence
    }

    /// `sip:` URIs, `user:NAME` (a registered user) or `line:NAME/number`.
    package var targets: [String]
    package var order: Order
    /// For each attempt.
    package var timeout: Duration
    /// A URI or number; nil: the caller's own.
    package var callerID: String?
    package var headers: [CallHeader]
    package var ringback: Ringback
    /// Whether the caller may hear the far side before it answers.
    package var earlyMedia: Bool
    /// Whether the one who was called may transfer the caller to this URI (REFER); nobody may, where it is not said.
    package var mayTransfer: (String) -> Bool = { _ in false }
    /// Called when the two are connected; the recording that it gives back ends with the bridge.
    package var onConnected: (() -> Recording?)?

    package init(
        targets: [String], order: Order = .all, timeout: Duration = .seconds(30), callerID: String? = nil,
        headers: [CallHeader] = [], ringback: Ringback = .automatic, earlyMedia: Bool = true
    ) {
        self.targets = targets
        self.order = order
        self.timeout = timeout
        self.callerID = callerID
        self.headers = headers
        self.ringback = ringback
        self.earlyMedia = earlyMedia
    }
}

package struct BridgeResult: Equatable, Sendable {
    package enum Outcome: String, Sendable, CaseIterable {
        /// It was answered, and the bridge is over now: the far side hung up.
        case answered
        case busy
        case noAnswer = "no-answer"
        case rejected
        case unreachable
        /// The caller hung up, or the flow gave up, before an answer.
        case cancelled
    }

    package var outcome: Outcome
    /// The target that answered, or the last that was tried.
    package var target: String
    /// The final status of that leg; 0 without one.
    package var status: Int
    /// How long the two were connected.
    package var connected: Duration
    /// Why this side could not reach the target, or could not connect the two; empty otherwise.
    package var detail: String

    package init(outcome: Outcome, target: String, status: Int = 0, connected: Duration = .zero, detail: String = "") {
        self.outcome = outcome
        self.target = target
        self.status = status
        self.connected = connected
        self.detail = detail
    }
}
