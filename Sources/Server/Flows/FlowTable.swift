// The flows of a server, loaded and checked before the first call: the routes' and the one that takes all other calls.

package import Audio
import Basics
package import CallEngine
package import FlowEngine

package struct FlowTable: Sendable {
    /// What a call gets.
    package struct Choice: Sendable {
        package var flow: Flow
        /// The route's `vars`.
        package var arguments: [String: Value]
    }

    private let configuration: Configuration
    /// By path; bridges of routes by their own text.
    private var flows: [Route.Target: Flow] = [:]
    private let fallback: Flow?
    /// What the checker had to say about flows that can run.
    package let warnings: [Diagnostic]
    /// The files of the flows, each once.
    package let files: [String]
    /// How the files were when they were read; those that are there.
    package let stamps: [String: FileStamp]

    /// - Parameter flow: the path of the flow for calls that no route takes; nil: they get 404.
    package init(_ configuration: Configuration, flow: String?) throws(CommandFailure) {
        self.configuration = configuration
        var files: [String] = flow.map { [$0] } ?? []
        for case .flow(let path) in configuration.routes.map(\.target) where !files.contains(path) { files.append(path) }
        self.files = files
        // Before they are read: what changes meanwhile is seen as a change.
        stamps = Self.stamps(of: files)
        var warnings: [Diagnostic] = []
        if let flow {
            let loaded = try Self.load(flow, configuration, arguments: [])
            fallback = loaded.flow
            warnings += loaded.warnings
        } else {
            fallback = nil
        }
        for route in configuration.routes where flows[route.target] == nil {
            switch route.target {
            case .flow(let path):
                // Routes may give one flow different variables: all their names count as known.
                let names = configuration.routes.filter { $0.target == route.target }.flatMap(\.vars.keys)
                let loaded = try Self.load(path, configuration, arguments: Set(names))
                flows[route.target] = loaded.flow
                warnings += loaded.warnings
            case .bridge(let target):
                flows[route.target] = try Self.bridge(to: target, at: route.place)
            }
        }
        if fallback == nil, configuration.routes.isEmpty {
            throw CommandFailure(
                .wrong, "there is no flow that could answer a call",
                mend: "name one: ringwright serve flows/reception.yaml, or add routes")
        }
        self.warnings = warnings
    }

    /// How these files are now; those that are there. Blocks.
    package static func stamps(of files: [String]) -> [String: FileStamp] {
        var result: [String: FileStamp] = [:]
        for file in files { result[file] = try? FileStamp(path: file) }
        return result
    }

    /// The flow for a call that came in; nil: 404.
    package func choice(for call: CallInfo) -> Choice? {
        if let route = configuration.route(to: call.to.user, line: call.line), let flow = flows[route.target] {
            return Choice(flow: flow, arguments: route.vars)
        }
        return fallback.map { Choice(flow: $0, arguments: [:]) }
    }

    private static func load(
        _ path: String, _ configuration: Configuration, arguments: Set<String>
    ) throws(CommandFailure) -> (flow: Flow, warnings: [Diagnostic]) {
        let names = Set(configuration.environmentNames)
        let loaded = try FlowFiles.usable(path, environmentNames: names, arguments: arguments)
        guard loaded.flow.direction.allows(.inbound) else {
            throw CommandFailure(
                .wrong, "\(path) is a flow for calls that go out",
                mend: "use it with ringwright call, or give it `direction: both`")
        }
        return loaded
    }

    /// A route's `bridge` is a flow of its own: the caller gets the other side's refusal.
    private static func bridge(to target: String, at place: SourcePlace) throws(CommandFailure) -> Flow {
        let text = """
            flow: bridge
            direction: inbound
            sections:
              start:
                - bridge:
                    to: \(JSONText.string(target).text)
                    on:
                      busy: { reject: 486 }
                      no-answer: { reject: 480 }
                      rejected: { reject: 603 }
                      unreachable: { reject: 404 }
                - hangup
            """
        let result = FlowLoader.load(text: text, file: "\(place) (bridge)")
        guard let flow = result.flow else {
            let why = result.diagnostics.first { $0.severity == .error }?.message ?? "it cannot be used"
            throw CommandFailure(.wrong, "\(place): `bridge: \(target)`: \(why)")
        }
        return flow
    }
}
