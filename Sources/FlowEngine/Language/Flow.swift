// A flow as the interpreter runs it: sections of steps, read and checked. Immutable, shared by all calls and loops.

package import CallEngine

/// For which calls a flow is meant.
package enum FlowDirection: String, CaseIterable, Sendable {
    case inbound
    case outbound
    case both

    package func allows(_ direction: CallInfo.Direction) -> Bool {
        switch self {
        case .both: true
        case .inbound: direction == .inbound
        case .outbound: direction == .outbound
        }
    }
}

/// One flow file.
package struct Flow: Sendable {
    package var name = ""
    package var description = ""
    /// BCP 47; `en` when the file names none.
    package var language = "en"
    /// The path it was read from, as given.
    package var file = ""
    /// In the order of the file. Values may be templates over `call`, `env`, `target`, …
    package var variables: [(name: String, value: FlowData)] = []
    /// Absolute or relative to the working folder, already joined with the flow's own folder.
    package var promptsFolder = "."
    package var start = ""
    package var sections: [FlowSection] = []
    /// Runs when the call is over, whoever ended it.
    package var always: Block?
    /// How long `always` may take.
    package var alwaysLimit = Duration.seconds(30)
    /// Where an error goes that no `on: failed` takes.
    package var failed: Block?
    package var direction = FlowDirection.both
    /// The codecs of its calls, best first; nil: as the line says.
    package var codecs: [String]?
    package var cases: [FlowCase] = []
    /// Every name that a flow's expressions may read as a variable: `vars` and all `into:`.
    package var names: Set<String> = []
    /// Flows that `run` names, by their resolved path.
    package var subflows: [String: Flow] = [:]

    package init() {}

    package func section(_ name: String) -> FlowSection? { sections.first { $0.name == name } }
}

package struct FlowSection: Sendable {
    package var name: String
    package var place: SourcePlace
    package var block: Block
}

/// Steps that run one after the other.
package struct Block: Sendable {
    package var steps: [Step] = []
    package init(_ steps: [Step] = []) { self.steps = steps }
}

/// One verb with its argument.
package struct Step: Sendable {
    package var verb: any Verb
    package var place: SourcePlace
    /// The variable that takes the result.
    package var into: String?
    /// What follows an outcome, by its name; `failed` is every verb's.
    package var on: [String: Block] = [:]

    package var name: String { type(of: verb).name }
}
