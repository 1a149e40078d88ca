// `ringwright load`: Ctrl-C drains, a second one ends; on a terminal it has the whole screen, and keys change the rate.

import Server

func runLoad(_ arguments: CommandArguments) async throws(CommandFailure) -> ExitStatus {
    let options = try LoadOptions(arguments)
    let keys = KeyPresses()
    return try await runDraining { stops throws(CommandFailure) in
        let hasScreen = FullScreen.isPossible
        let keyboard = Keyboard(suspends: !hasScreen) { keys.press($0) }
        let screen = hasScreen ? LoadScreen(title: options.target) : nil
        let shown = screen.flatMap { FullScreen($0) }
        // Before the result is printed.
        defer {
            shown?.stop()
            keyboard?.stop()
        }
        return try await LoadCommand.run(
            options, version: Program.version, stops: stops, keys: keys, screen: shown == nil ? nil : screen
        ) { line in
            if shown != nil, let screen { screen.note(line) } else { Terminal.progress(line) }
        }
    }
}
