// `ringwright demo`

import Reactor
import Server

func runDemo(_ arguments: CommandArguments) async throws(CommandFailure) -> ExitStatus {
    let options = DemoOptions(arguments)
    ProcessSignal.ignoreBrokenPipes()
    let json = options.json
    var configuration = Configuration()
    configuration.log.level = .warning
    let log = try makeLog(configuration.log)
    defer { log.stop() }
    return Terminal.show(
        try await DemoCommand.run(options, version: Program.version, log: log.log) { line in
            if json { Terminal.progress(line) } else { Terminal.print(line + "\n") }
        })
}
