// `ringwright load`: Ctrl-C drains, a second one ends; on a terminal keys change the rate.

import Server

func runLoad(_ arguments: CommandArguments) async throws(CommandFailure) -> ExitStatus {
    let options = try LoadOptions(arguments)
    let keys = KeyPresses()
    let keyboard = Keyboard { keys.press($0) }
    defer { keyboard?.stop() }
    return try await runDraining { stops throws(CommandFailure) in
        try await LoadCommand.run(options, version: Program.version, stops: stops, keys: keys) { Terminal.progress($0) }
    }
}
