// `ringwright load`: Ctrl-C drains, a second one ends.

import Reactor
import Server

func runLoad(_ arguments: CommandArguments) async throws(CommandFailure) -> ExitStatus {
    let options = try LoadOptions(arguments)
    ProcessSignal.ignoreBrokenPipes()
    let stops = StopRequests()
    let signals = try? InterruptSignal { stops.request() }
    defer { signals?.stop() }
    return Terminal.show(try await LoadCommand.run(options, stops: stops) { Terminal.progress($0) })
}
