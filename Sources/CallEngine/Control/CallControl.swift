package import Reactor

/// What a flow (or a Swift program) may do with one call: the only door from above into the engine.
///
/// `Call` is the real one; the flow test bench has one without a network. Everything here belongs to the call's loop. Operations
/// that only start something return at once; their ends are reported through the object that they return. Waiting functions throw
/// `CancellationError` when the task is cancelled, which is what hanging up does to the flow that runs.
package protocol CallControl: AnyObject {
    var loop: EventLoop { get }
    var direction: CallInfo.Direction { get }
    /// Facts for expressions, logs and results; they change as the call goes on, and are put together anew each time.
    var info: CallInfo { get }
    var state: CallState { get }
    /// Called once, when the call is over, whoever ended it (in the same turn in which `state` becomes `ended`).
    var onEnd: ((CallEnd) -> Void)? { get set }
    /// Called every few seconds while the call has media, on its loop.
    var onQuality: ((QualityEvent) -> Void)? { get set }

    // MARK: Signaling of a call that came in

    /// 180 Ringing. Repeating it, or calling it after early media began, does nothing.
    func ring() throws(CallControlError)
    /// Which codecs the call may have, best first; of a line with codecs of its own only those. Before early media and the answer. An error when
    /// the other side has none of them: the call cannot be answered then.
    func choose(codecs: [String]) throws(CallControlError)
    /// 183 Session Progress with SDP: media may be played from now on.
    func progress() throws(CallControlError)
    /// 200 OK; returns when media can flow (at once, or with the ACK that carries the answer of an offerless INVITE).
    func answer() async throws
    /// A final refusal, 400 to 699. `reason` nil: the status's usual phrase.
    func reject(status: Int, reason: String?, headers: [CallHeader]) throws(CallControlError)
    /// 302 Moved Temporarily with these Contact addresses, best first.
    func redirect(to contacts: [String]) throws(CallControlError)

    // MARK: Signaling of a call that goes out

    /// Waits until the call got this far or is over. `timeout` ends the wait, not the call.
    func wait(for milestone: CallMilestone, timeout: Duration?) async throws(CancellationError) -> MilestoneResult

    // MARK: Both

    /// Ends the call in the way its state asks for: BYE, CANCEL or a final answer. Does nothing once it is over.
    func hangUp(_ reason: HangUpReason)
    /// After a call that goes out was given up before its answer: waits for the final answer to its INVITE, 487 as a rule, which `info` tells
    /// then. At once when there is none to wait for; 64*T1 after the CANCEL at the latest (RFC 3261 section 9.1). `hangUp` once more
    /// ends the wait.
    func finalAnswer() async
    /// re-INVITE with `sendonly`, playing `music` (nil: silence) to the held side. Before the answer by UPDATE, where the other side takes
    /// that and the early media was acknowledged by PRACK.
    func hold(music: AudioSource?) async throws
    /// Nothing happens to a call that is not held.
    func unhold() async throws
    /// `hold` has succeeded, and `unhold` not since.
    var isHeldByUs: Bool { get }

    /// Sends the far side away to another target by REFER, and returns when that is done or failed. After `transferred` hang up.
    func transfer(_ request: TransferRequest) async throws -> TransferResult

    /// Sends a text by MESSAGE, in the call's dialog or to somebody else, and returns when it is answered or its time is over. To somebody
    /// else it may be sent after the end of the call too.
    func send(_ text: TextRequest) async throws -> TextResult

    /// The texts that the far side sends by MESSAGE.
    var receivedTexts: TextInbox { get }

    // MARK: Media

    /// Starts playing, after what plays now has been stopped. Never throws: what cannot be played ends with `.failed`.
    func play(_ request: PlaybackRequest) -> Playback
    /// Starts a recording of this call; a second one at a time is an error.
    func record(_ request: RecordingRequest) throws(CallControlError) -> Recording
    /// Reports speech, silence and tones of the far side, before the answer too.
    func listen(_ request: ListenRequest) -> Listening
    /// Sends keys; returns when the last one is over. `w` waits half a second, `W` one second.
    func sendDigits(_ digits: String, options: SendDigitsOptions) async throws
    /// Keys that the far side presses.
    var digits: DigitInbox { get }

    // MARK: Other calls

    /// Takes part in a conference. It comes back at once; whether the call is in is told by what comes back. One at a time.
    func join(_ request: ConferenceRequest) throws(CallControlError) -> Participation

    /// Calls the targets, connects this call with the one that answers and returns when that leg or this call is over, or when
    /// nobody answered.
    func bridge(_ request: BridgeRequest) async throws(CancellationError) -> BridgeResult
}

/// How far a call got.
package enum CallState: Equatable, Sendable {
    /// Made or come in; nothing was answered yet.
    case new
    /// 180 was sent or received.
    case ringing
    /// Media before the answer.
    case early
    case answered
    case ended(CallEnd)

    package var isEnded: Bool {
        if case .ended = self { true } else { false }
    }
}

/// What an outbound flow may wait for. Each is passed when a later one is reached.
package enum CallMilestone: Sendable {
    case ringing
    case earlyMedia
    case answered
}

package enum MilestoneResult: Equatable, Sendable {
    case reached
    /// The call is over instead.
    case ended(CallEnd)
    case timedOut
}

/// Who ends the call and how, where the state leaves a choice.
package struct HangUpReason: Equatable, Sendable {
    /// The status of the final answer when an incoming call was not answered yet.
    package var status: Int
    /// Why, for `CallEnd.cause`.
    package var cause: CallEnd.Cause
    package var detail: String
    /// The value of Reason in BYE, CANCEL or the refusal (RFC 3326): `Q.850;cause=16`; nil: none.
    package var reason: String?

    package init(status: Int = 480, cause: CallEnd.Cause = .normal, detail: String = "", reason: String? = nil) {
        self.status = status
        self.cause = cause
        self.detail = detail
        self.reason = reason
    }

    package static let normal = HangUpReason()
    /// Another leg answered: a phone shows no missed call then.
    static let answeredElsewhere = HangUpReason(cause: .cancelled, reason: "SIP;cause=200;text=\"Call completed elsewhere\"")
}

/// An operation that the call's state does not allow: a mistake of the flow.
package enum CallControlError: Error, Equatable, Sendable {
    /// The operation and what forbids it, ready for a log line: "answer: the call has ended".
    case wrongState(operation: String, why: String)
    /// No media can flow yet.
    case noMedia(operation: String)
    /// The far side refused (a re-INVITE for hold, say). `warning`: why, as its Warning says; empty without one.
    case refused(operation: String, status: Int, warning: String = "")
    /// A path outside the allowed folder, a bad value, a busy resource.
    case invalid(operation: String, why: String)

    /// For a log line.
    package var words: String {
        switch self {
        case .wrongState(let operation, let why), .invalid(let operation, let why): "\(operation): \(why)"
        case .noMedia(let operation): "\(operation) needs audio and there is none yet"
        case .refused(let operation, let status, let warning):
            "\(operation): the far side refused with \(status)" + (warning.isEmpty ? "" : " (Warning: \(warning))")
        }
    }
}

/// A header field of a message, as it was written.
package struct CallHeader: Equatable, Sendable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
