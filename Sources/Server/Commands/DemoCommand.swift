// `ringwright demo`: a server and a caller on this machine, over real SIP and RTP. It is a test as well: what the caller heard must be
// the prompts that the server played, by correlation of the recording with the files.

import Audio
import Basics
import CallEngine
import FlowEngine
import Foundation

package enum DemoCommand {
    /// Runs the demo; `show` gets the ladder line by line while the call goes on.
    package static func run(
        _ options: DemoOptions, version: String, log: Log, show: @escaping @Sendable (String) -> Void
    ) async throws(CommandFailure) -> CommandOutcome {
        for flow in [options.server, options.caller] where !FileManager.default.fileExists(atPath: flow) {
            throw CommandFailure(
                .wrong, "there is no \(flow) in this folder",
                mend: "start the demo in the project's folder, or name flows with --server and --caller")
        }
        let folder = absolute(options.recordings)
        try OutputFolder.make(folder)
        var configuration = Configuration()
        configuration.sip.listen = [.init(.udp, SocketAddress(ip: .loopback4, port: 0))]
        configuration.control.listen = nil
        configuration.recordings = folder
        let callerFlow = try FlowFiles.usable(options.caller).flow
        let serverFlow = try FlowFiles.usable(options.server).flow
        let board = DemoBoard(left: callerFlow.name, right: serverFlow.name, show: show)
        let server = try RunningServer(
            ServerRules(configuration, flows: try FlowTable(configuration, flow: options.server)), version: version, loopCount: 1,
            log: log, trace: { board.message($0) }, observers: { _ in [DemoObserver(board, .right)] })
        defer { server.close() }
        let party = try CallingParty(configuration, listen: [.init(.udp, SocketAddress(ip: .loopback4, port: 0))])
        defer { party.close() }
        let port = server.engine.listeners[0].address.port
        let heard = "\(folder)/caller-heard.wav"
        let order = CallingParty.Order(
            request: CallRequest(target: "sip:\(serverFlow.name)@127.0.0.1:\(port)", from: callerFlow.name), flow: callerFlow,
            recording: RecordingRequest(path: heard, channels: .stereo))
        let report = try await party.place(order, observers: { _ in [DemoObserver(board, .left)] })
        await withCheckedContinuation { over in server.drain { over.resume() } }
        let findings = try examine(report, board: board, serverFlow: serverFlow, folder: folder)
        let passed = report.result.exitStatus == .passed && findings.allSatisfy(\.isFound)
        if options.json {
            return CommandOutcome(
                lines: [json(report, findings).text], note: "", status: passed ? .passed : .failed)
        }
        var lines = ["", report.result.summary, ""]
        lines += findings.map { finding in
            finding.isFound
                ? "heard: \(finding.prompt) at \(finding.at) of the recording (correlation \(finding.correlation))"
                : "NOT heard: \(finding.prompt) (correlation \(finding.correlation))"
        }
        lines += board.recordings.map { "message: \($0.hasPrefix("/") ? $0 : "\(folder)/\($0)")" }
        lines.append("recording: \(heard)")
        return CommandOutcome(lines: lines, note: "", status: passed ? .passed : .failed)
    }

    /// A prompt, looked for in what the caller heard.
    private struct Finding {
        var prompt: String
        var peak: Double
        var seconds: Double
        var isFound: Bool { peak > 0.8 }
        var at: String { "\((seconds * 10).rounded() / 10) s" }
        var correlation: String { "\((peak * 100).rounded() / 100)" }
    }

    /// Looks for every prompt that the server played to its end in the left channel: the caller's ear.
    private static func examine(
        _ report: CallingParty.Report, board: DemoBoard, serverFlow: Flow, folder: String
    ) throws(CommandFailure) -> [Finding] {
        guard let recording = report.recording, recording.complete else {
            throw CommandFailure(.failed, "the call was not recorded: \(report.recording?.detail ?? report.result.end.detail)")
        }
        do throws(PromptError) {
            let ear = try PromptFile.read(recording.path, channel: 0)
            var findings: [Finding] = []
            for name in board.playedWhole {
                let prompt = try PromptFile.read("\(serverFlow.promptsFolder)/\(name)").resampled(to: ear.rate)
                let match = Correlation.search(prompt, in: ear)
                findings.append(Finding(prompt: name, peak: match.peak, seconds: Double(match.lag) / Double(ear.rate)))
            }
            return findings
        } catch {
            throw CommandFailure(.failed, "\(error)")
        }
    }

    private static func json(_ report: CallingParty.Report, _ findings: [Finding]) -> JSONText {
        .object([
            ("call", report.result.json), ("recording", .string(report.recording?.path ?? "")),
            (
                "heard",
                .array(
                    findings.map {
                        .object([
                            ("prompt", .string($0.prompt)), ("found", .bool($0.isFound)),
                            ("correlation", .number($0.peak, digits: 3)), ("at_s", .number($0.seconds, digits: 2))
                        ])
                    })
            )
        ])
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
}
