// `ringwright call`: Ctrl-C hangs up.

import Reactor
import Server

func runCall(_ arguments: CommandArguments) async throws(CommandFailure) -> ExitStatus {
    let options = try CallOptions(arguments)
    ProcessSignal.ignoreBrokenPipes()
    // A task of its own, so that a signal can cancel it.
    let task = Task { () async -> Result<CommandOutcome, CommandFailure> in
        do throws(CommandFailure) {
            return .success(try await CallCommand.run(options) { Terminal.progress($0) })
        } catch {
            return .failure(error)
        }
    }
    let signals = try? InterruptSignal { task.cancel() }
    defer { signals?.stop() }
    return Terminal.show(try await task.value.get())
}
