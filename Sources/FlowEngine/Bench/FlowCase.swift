// The flow's own tests (`cases:`): what the far side does, how the world answers, what is expected. Read from the flow file.

package import CallEngine

/// One case.
package struct FlowCase: Sendable {
    package var name = ""
    package var place: SourcePlace
    package var direction = CallInfo.Direction.inbound
    /// What the far side does, step by step.
    var script: [FarSideStep] = []
    var from = "sip:caller@bench.example"
    var to = "sip:100@bench.example"
    var headers: [CallHeader] = []
    /// Seconds since 1970 at the start of the call.
    var startedAt = 1_767_607_200.0
    var arguments: [String: Value] = [:]
    var environment: [String: String] = [:]
    var target = Value.null
    var bridges: [(pattern: String, behaviour: BridgeBehaviour)] = []
    var rooms: [(pattern: String, behaviour: RoomBehaviour)] = []
    var web: [(pattern: String, answers: [WebAnswer])] = []
    var expectations: [CaseExpectation] = []
    /// Virtual time after which the far side hangs up and the case fails.
    var limit = Duration.seconds(600)
}

/// What the far side does in a case.
enum FarSideStep: Sendable {
    /// Waits until this prompt begins (or, `whole`, has been played).
    case hears(String, whole: Bool, SourcePlace)
    case press(String)
    case waits(Duration)
    /// A text by MESSAGE.
    case texts(String)
    case says(Duration)
    case tone(ToneSpec, Duration)
    /// A file of the prompts folder: its path, and as it was written.
    case plays(path: String, name: String)
    /// Waits until the flow has sent these keys.
    case receives(String, SourcePlace)
    case hangsUp
    // Of a callee, before the answer:
    case rings
    case earlyMedia
    case answers
    /// A final refusal.
    case rejects(Int)

    var words: String {
        switch self {
        case .hears(let name, let whole, _): whole ? "hears all of \(name)" : "hears \(name)"
        case .press(let keys): "presses \(keys)"
        case .waits(let length): "waits \(FlowDuration.print(length))"
        case .texts(let text): "texts \(text)"
        case .says(let length): "speaks for \(FlowDuration.print(length))"
        case .tone(let tone, let length): "sends \(tone.words) for \(FlowDuration.print(length))"
        case .plays(_, let name): "plays \(name)"
        case .receives(let keys, _): "receives \(keys)"
        case .hangsUp: "hangs up"
        case .rings: "rings"
        case .earlyMedia: "sends early media"
        case .answers: "answers"
        case .rejects(let status): "refuses with \(status)"
        }
    }
}

/// How a bridge target behaves.
struct BridgeBehaviour: Sendable {
    /// After `delay`.
    var outcome = BridgeResult.Outcome.answered
    var delay = Duration.seconds(1)
    /// How long the two talk before the target hangs up.
    var talks = Duration.seconds(5)
    /// What the target does once it has answered.
    var script: [FarSideStep] = []
}

enum WebAnswer: Sendable {
    case response(WebResponse, after: Duration)
    case failed(String)
}

/// What a case expects.
struct CaseExpectation: Sendable {
    indirect enum Kind: Sendable {
        case played([String])
        case bridged(String, outcome: String?)
        case transferred(String, outcome: String)
        /// Of the text; nil: any.
        case message(String?, to: String?, outcome: String?)
        case info(String)
        case notBridged
        case conference(String, outcome: String?)
        case recorded(String?)
        case ended(EndPattern)
        case hungUp(String)
        case rejected(Int)
        case redirected(String)
        case answered(Bool)
        case logged(String)
        case tagged(String, String?)
        case value(String, Value)
        case collected(String)
        case sent(String)
        case requested(String)
        case section(String)
        case result(String)
        case held
        case failed(String)
        case verdict(String, passed: Bool)
        case not(Kind)
    }

    var kind: Kind
    var place: SourcePlace
}
