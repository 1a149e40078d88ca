// `ringwright load`: Ctrl-C drains, a second one ends; on a terminal keys change the rate.

import Reactor
import Server

func runLoad(_ arguments: CommandArguments) async throws(CommandFailure) -> ExitStatus {
    let options = try LoadOptions(arguments)
    ProcessSignal.ignoreBrokenPipes()
    let stops = StopRequests()
    let signals = try? InterruptSignal { stops.request() }
    defer { signals?.stop() }
    let keys = KeyPresses()
    let keyboard = Keyboard { keys.press($0) }
    defer { keyboard?.stop() }
    return Terminal.show(
        try await LoadCommand.run(options, version: Program.version, stops: stops, keys: keys) { Terminal.progress($0) })
}
