// `ringwright serve`: answers calls until SIGTERM. The first one drains, the second ends at once.

import Foundation
import Reactor
import Server

func runServe(_ arguments: CommandArguments) async throws(CommandFailure) -> ExitStatus {
    let options = try ServeOptions(arguments)
    let (configuration, warnings) = try options.configuration.load()
    let flows = try FlowTable(configuration, flow: options.flow)
    for warning in warnings + flows.warnings { Terminal.note("\(warning)") }
    ProcessSignal.ignoreBrokenPipes()
    _ = try? DescriptorLimit.raise()
    for finding in try Doctor.atStart(configuration) { Terminal.note(finding.line) }

    let log = try makeLog(configuration.log)
    let server = try RunningServer(
        configuration, flows: flows, version: Program.version, loopCount: ProcessInfo.processInfo.activeProcessorCount, log: log)
    for listener in server.listening { Terminal.note("listening on \(listener)") }
    if let page = server.page { Terminal.note("health and metrics on http://\(page)/") }

    let watch: Result<Void, SystemError> = await withCheckedContinuation { continuation in
        server.control.execute {
            let end = EndOnce { continuation.resume(returning: .success(())) }
            var isDraining = false
            do throws(SystemError) {
                _ = try SignalSource(loop: server.control, signals: [.terminate, .interrupt]) { _ in
                    if isDraining { return end.fire() }
                    isDraining = true
                    Terminal.note("no new calls; waiting for \(server.activeCalls) to end (again: end them)")
                    server.drain { end.fire() }
                }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
    }
    server.close()
    if case .failure(let error) = watch {
        throw CommandFailure(.unable, "\(error)", mend: "ringwright doctor looks for the cause")
    }
    return .passed
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
func makeLog(_ settings: Configuration.Log) throws(CommandFailure) -> Log {
    do throws(SystemError) {
        let loop = try EpollLoop(name: "log")
        try loop.start()
        return Log(settings, on: loop) { try? FileHandle.standardError.write(contentsOf: Data($0.utf8)) }
    } catch {
        throw CommandFailure(.unable, "\(error)")
    }
}

enum Program {
    static let version = "0.1.0"
}
