// `ringwright call`: one call, shown live, and its result.

import Basics
import CallEngine
import FlowEngine
import Foundation
import Reactor

package enum CallCommand {
    /// Places the call. `progress` gets a line for each thing that happens, on some thread.
    package static func run(
        _ options: CallOptions, progress: @escaping @Sendable (String) -> Void
    ) async throws(CommandFailure) -> CommandOutcome {
        let (configuration, warnings) = try options.configuration.load()
        for warning in warnings { progress(warning.description) }
        if let line = options.line { _ = try configuration.line(chosen: line) }
        let flow = try flow(for: options, configuration)
        let traced = Locked<[TraceEvent]>([])
        var tracing: (settings: TraceSettings, onEvent: @Sendable (TraceEvent) -> Void)?
        if let path = options.trace {
            try OutputFolder.make(path)
            tracing = (
                TraceSettings(folder: absolute(path), kept: .max, size: 1 << 30, showsKeys: true),
                { event in
                    traced.withLock { $0.append(event) }
                }
            )
        }
        let party = try CallingParty(
            configuration, listen: CallingEngine.anywhere, webSockets: options.target.lowercased().contains("transport=ws"),
            tracing: tracing)
        let outcome: CommandOutcome
        do throws(CommandFailure) {
            outcome = try await place(options, by: party, flow, progress)
        } catch {
            party.close()
            throw error
        }
        // Traces are whole when everything has ended.
        party.close()
        return Self.adding(traced.withLock { $0 }, to: outcome)
    }

    private static func place(
        _ options: CallOptions, by party: CallingParty, _ flow: Flow, _ progress: @escaping @Sendable (String) -> Void
    ) async throws(CommandFailure) -> CommandOutcome {
        var order = CallingParty.Order(
            request: CallRequest(target: options.target, line: options.line, from: options.from), flow: flow,
            arguments: Dictionary(options.vars.map { ($0.name, Value.string($0.value)) }, uniquingKeysWith: { $1 }),
            duration: options.duration)
        if let record = options.record {
            try OutputFolder.make(record)
            order.recording = RecordingRequest(path: "\(absolute(record))/\(fileName(of: options.target)).wav", channels: .stereo)
        }
        let report = try await party.place(
            order, observers: { _ in [EventLines { progress("  \($0)") }] },
            onState: { _, state in if let words = words(for: state) { progress(words) } })
        var notes: [String] = []
        if let recording = report.recording { notes.append(recordingLine(recording)) }
        let line = options.json ? report.result.json.text : report.result.summary
        var status = report.result.exitStatus
        // The call may have gone well: what was asked for is not there.
        if status == .passed, report.recording?.complete == false { status = .unable }
        return CommandOutcome(lines: [line], note: notes.joined(separator: "\n"), status: status)
    }

    /// What became of the traces that were asked for.
    private static func adding(_ traces: [TraceEvent], to outcome: CommandOutcome) -> CommandOutcome {
        var result = outcome
        for event in traces {
            let line: String
            switch event {
            case .written(_, let folder): line = "trace: \(folder)"
            case .noRoom: continue  // All are kept.
            case .failed(_, let reason):
                line = "trace (not complete): \(reason)"
                // As with a recording: what was asked for is not there.
                if result.status == .passed { result.status = .unable }
            }
            result.note += result.note.isEmpty ? line : "\n\(line)"
        }
        return result
    }

    /// The flow of `--flow`; without one, a flow that listens until somebody hangs up.
    private static func flow(for options: CallOptions, _ configuration: Configuration) throws(CommandFailure) -> Flow {
        guard let file = options.flow else {
            let text = """
                flow: call
                direction: outbound
                sections:
                  call:
                    - answer: { timeout: 120s }
                    - wait: 24h
                    - hangup
                """
            guard let flow = FlowLoader.load(text: text, file: "call").flow else {
                preconditionFailure("the flow of a call without a flow is a flow")
            }
            return flow
        }
        return try FlowFiles.outbound(file, configuration, arguments: Set(options.vars.map(\.name)))
    }

    private static func words(for state: CallState) -> String? {
        switch state {
        case .new: nil
        case .ringing: "it rings"
        case .early: "audio before the answer"
        case .answered: "answered"
        case .ended(let end): "ended by \(end.by.rawValue): \(end.cause.rawValue)"
        }
    }

    static func recordingLine(_ recording: RecordingResult) -> String {
        recording.complete ? "recording: \(recording.path)" : "recording (not complete: \(recording.detail)): \(recording.path)"
    }

    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// A target as a file name: letters, digits and dashes.
    private static func fileName(of target: String) -> String {
        String(target.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }.prefix(64))
    }
}
