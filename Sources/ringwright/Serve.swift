// `ringwright serve`: answers calls until SIGTERM. The first one drains, the second ends at once; with a report its half of the figures is
// written then.

import Foundation
import Reactor
import Server

func runServe(_ arguments: CommandArguments) async throws(CommandFailure) -> ExitStatus {
    let options = try ServeOptions(arguments)
    let (rules, warnings) = try options.loadRules()
    for warning in warnings { Terminal.note("\(warning)") }
    if let folder = options.report { try OutputFolder.make(folder) }
    ProcessSignal.ignoreBrokenPipes()
    _ = try? DescriptorLimit.raise()
    if let warning = rules.certificateWarning { Terminal.note("warning: \(warning)") }
    for finding in try Doctor.atStart(rules.configuration) { Terminal.note(finding.line) }

    let logThread = try makeLog(rules.configuration.log)
    // Last of all, so that the ends of calls are written.
    defer { logThread.stop() }
    let log = logThread.log
    let server = try RunningServer(
        rules, version: Program.version, loopCount: ProcessInfo.processInfo.activeProcessorCount, log: log,
        counts: options.report != nil)
    let files: WorkerPool
    do throws(SystemError) {
        files = try WorkerPool(name: "files", threads: 1, limit: 64)
    } catch {
        server.close()
        throw CommandFailure(.unable, "\(error)")
    }

    let cut = Locked(0)
    let watch: Result<Void, SystemError> = await withCheckedContinuation { continuation in
        server.control.execute {
            let end = EndOnce { continuation.resume(returning: .success(())) }
            let reloader = LoopBound(
                Reloader(options, rules: rules, loop: server.control, workers: files, log: log) { server.use($0) },
                on: server.control)
            reloader.onLoop.start()
            let kept = options.report.map { folder in
                LoopBound(
                    KeptReport(folder, loop: server.control, workers: files, log: log) { server.counted }, on: server.control)
            }
            kept?.onLoop.start()
            let stop = {
                reloader.onLoop.stop()
                kept?.onLoop.stop()
            }
            var isDraining = false
            do throws(SystemError) {
                _ = try SignalSource(loop: server.control, signals: [.terminate, .interrupt, .hangup]) { signal in
                    if signal == .hangup { return reloader.onLoop.reloadConfiguration() }
                    if isDraining {
                        cut.withLock { $0 = server.activeCalls }
                        stop()
                        return end.fire()
                    }
                    isDraining = true
                    Terminal.note("no new calls; waiting for \(server.activeCalls) to end (again: end them)")
                    let stopping = LoopBound(stop, on: server.control)
                    server.drain {
                        stopping.onLoop()
                        end.fire()
                    }
                }
                // Whoever reads this may send a signal.
                announce(server)
            } catch {
                stop()
                continuation.resume(returning: .failure(error))
            }
        }
    }
    let calls = cut.withLock { $0 }
    let report = server.close(wasCut: calls > 0)
    files.stop()
    if case .failure(let error) = watch {
        throw CommandFailure(.unable, "\(error)", mend: "ringwright doctor looks for the cause")
    }
    // A run that was cut short is no success.
    if calls > 0 { Terminal.note("\(calls) \(calls == 1 ? "call was" : "calls were") ended") }
    let status: ExitStatus = calls > 0 ? .failed : .passed
    guard let folder = options.report, let report else { return status }
    try KeptReport.write(report, into: folder)
    return max(status, Terminal.show(LoadCommand.outcome(ofFarEnd: report, json: options.json)))
}

private func announce(_ server: RunningServer) {
    for listener in server.listening { Terminal.note("listening on \(listener)") }
    if let page = server.page { Terminal.note("health and metrics on http://\(page)/") }
}

/// Runs its action the first time only.
private final class EndOnce: Sendable {
    private let action: Locked<(@Sendable () -> Void)?>

    init(_ action: @escaping @Sendable () -> Void) {
        self.action = Locked(action)
    }

    func fire() {
        let action = self.action.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }
}

/// A log on standard error, written by a thread of its own.
func makeLog(_ settings: Configuration.Log) throws(CommandFailure) -> LogThread {
    try LogThread(settings) { try? FileHandle.standardError.write(contentsOf: Data($0.utf8)) }
}

enum Program {
    static let version = "0.1.0"
}
