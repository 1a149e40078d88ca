// What a verb is: one struct a file in Verbs/, with its name, what it requires, its parameters and what it does.

/// What a verb needs of the call when it begins.
package enum VerbNeed: Sendable {
    /// Runs at any time, in `always:` too.
    case nothing
    /// The call is not over.
    case call
    /// An incoming call has had no final answer. (A call that goes out is asked by the verb itself.)
    case unanswered
    case answered
    /// Audio can flow: after the answer, or after `progress` (early media).
    case media
}

/// What a step came to.
package struct StepResult: Sendable {
    /// The result, for `into:` and `result`; nil when the verb has none.
    package var value: Value?
    /// What `into:` takes when it is another than `value` (collect: the digits).
    package var into: Value?
    /// The name of the outcome, for `on:`.
    package var outcome: String?
    /// Runs after the result was stored (a choice, a branch).
    package var then: Block?
    /// The flow is over unless `on:` handles the outcome.
    package var endsUnlessHandled = false
    /// The value is kept out of logs, events and results.
    package var isSecret = false

    package init(value: Value? = nil, outcome: String? = nil, then: Block? = nil) {
        self.value = value
        self.outcome = outcome
        self.then = then
    }

    package static let done = StepResult()
}

/// One verb of the flow language.
package protocol Verb: Sendable {
    static var name: String { get }
    static var needs: VerbNeed { get }
    /// For what calls it can be used.
    static var directions: FlowDirection { get }
    /// Whether it connects the call with others: not while it is in a bridge.
    static var takesCall: Bool { get }
    /// The outcomes that `on:` may name besides `failed`.
    static var outcomes: [String] { get }
    /// A step with this verb, as a flow would write it; the tests parse it.
    static var example: String { get }

    /// Reads the parameters; what does not fit is reported to the reader. nil: unusable.
    init?(_ step: StepReader)

    /// Does it. Throws `FlowError` (the step failed), `FlowTransfer` (goto, end) or `CancellationError` (the call is over).
    func run(_ run: FlowRun) async throws -> StepResult

    /// How control goes on from here, for the checker.
    var shape: StepShape { get }
}

extension Verb {
    package static var directions: FlowDirection { .both }
    package static var takesCall: Bool { false }
    package static var outcomes: [String] { [] }
    package var shape: StepShape { StepShape() }
}

/// How control leaves a step.
package struct StepShape: Sendable {
    /// Blocks that the verb itself may run.
    package var branches: [Block] = []
    /// Whether the step after it can follow without one of the branches falling through.
    package var continues = true
    /// Outcomes that together are all there are: when `on:` handles each of them, the step after it cannot follow.
    package var exhaustive: [String]?
    /// Whether it always takes time (a prompt, a wait, a key).
    package var takesTime = false
    /// The section it goes to.
    package var goto: (section: String, place: SourcePlace)?
    /// Sections that it runs beside the flow, with the setting that names each.
    package var aside: [(section: String, place: SourcePlace, key: String)] = []
    /// The branches are run over and over; without a way out nothing comes after.
    package var loopsForever = false

    package init(
        branches: [Block] = [], continues: Bool = true, takesTime: Bool = false,
        goto: (section: String, place: SourcePlace)? = nil, loopsForever: Bool = false
    ) {
        self.branches = branches
        self.continues = continues
        self.takesTime = takesTime
        self.goto = goto
        self.loopsForever = loopsForever
    }
}

/// A step that failed: a mistake of the flow or of its surroundings, with words for the log. Never holds a secret.
package struct FlowError: Error, Equatable, Sendable, CustomStringConvertible {
    package var message: String
    /// Where; filled in by the interpreter.
    package var place: SourcePlace?

    package init(_ message: String, at place: SourcePlace? = nil) {
        self.message = message
        self.place = place
    }

    package var description: String { place.map { "\($0): \(message)" } ?? message }
}

/// Control that leaves a block.
package enum FlowTransfer: Error, Equatable, Sendable {
    case goto(String, at: SourcePlace)
    /// The flow is over (the call was, or is being, ended).
    case end
    /// The sub-flow is over; the caller goes on.
    case back
    /// Out of the nearest `repeat`.
    case leaveLoop
}

/// All verbs that are built, by name, and those that are known and not built yet.
package enum VerbRegistry {
    package static let all: [any Verb.Type] = [
        RingVerb.self, ProgressVerb.self, AnswerVerb.self, RejectVerb.self, RedirectVerb.self, PlayVerb.self, SayVerb.self,
        ToneVerb.self,
        RingbackVerb.self, CollectVerb.self, MenuVerb.self, RecordVerb.self, BridgeVerb.self, ConferenceVerb.self,
        TransferVerb.self, HoldVerb.self, UnholdVerb.self, RequestVerb.self, SendDigitsVerb.self, SendInfoVerb.self,
        SendMessageVerb.self, SetVerb.self, IfVerb.self,
        SwitchVerb.self, RepeatVerb.self,
        GotoVerb.self,
        RunVerb.self, WaitVerb.self, LogVerb.self, TagVerb.self, ExpectVerb.self, DetectVerb.self, HangupVerb.self
    ]

    /// Verbs of the language that this version does not have.
    package static let notBuilt: Set<String> = [
        "mute", "unmute", "queue", "park", "stream", "measure", "notify"
    ]

    package static let byName: [String: any Verb.Type] = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}
