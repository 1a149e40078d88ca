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
    /// What the targets are offered, best first, of those that their lines allow; nil: all that these allow.
    package var codecs: [String]?
    package var ringback: Ringback
    /// Whether the caller may hear the far side before it answers.
    package var earlyMedia: Bool
    /// Whether the one who was called may transfer the caller to this URI (REFER); nobody may, where it is not said.
    package var mayTransfer: (String) -> Bool = { _ in false }
    /// What is done with a target that has answered, before the two are connected: meanwhile the caller goes on hearing ringback, and other
    /// targets go on ringing. The first for whom it ends with `goOn` is connected. Cancelled when that target or the caller
    /// hangs up. nil: the first that answers is connected at once.
    package var prepare: BridgeAside?
    /// Keys that do something while the two are connected; they are heard by the other side all the same. No sequence begins another.
    package var keys: [BridgeKeys] = []
    /// Runs when one of `keys` was pressed: its index, and the call of who pressed it. One at a time; cancelled when the bridge ends.
    package var onKeys: ((Int, any CallControl) async throws(CancellationError) -> BridgeVerdict)?
    /// The longest time for which the two are connected; nil: none.
    package var limit: Duration?
    /// What both hear that long before the limit.
    package var warning: (before: Duration, sounds: [AudioSource])?
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

/// Something that is done on one leg of a bridge.
package typealias BridgeAside = (any CallControl) async throws(CancellationError) -> BridgeVerdict

/// How a bridge goes on after something was done on one of its legs.
package enum BridgeVerdict: Sendable {
    /// The two are connected, or stay so.
    case goOn
    /// The target does not want the call, or is not there: it is hung up, and does not count as answered. The same as `goOn` for two that
    /// are connected.
    case rejected
    case noAnswer
    /// The bridge is over: the target is hung up, the caller is somebody else's.
    case leave
}

/// A sequence of keys that does something while two legs are connected.
package struct BridgeKeys: Equatable, Sendable {
    /// Whose keys count.
    package enum Side: String, Sendable, CaseIterable {
        case caller
        case callee
        case both
    }

    package var digits: [Digit]
    package var by: Side

    package init(_ digits: [Digit], by: Side = .both) {
        self.digits = digits
        self.by = by
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
    /// The limit ended it.
    package var isLimited = false

    package init(outcome: Outcome, target: String, status: Int = 0, connected: Duration = .zero, detail: String = "") {
        self.outcome = outcome
        self.target = target
        self.status = status
        self.connected = connected
        self.detail = detail
    }
}
