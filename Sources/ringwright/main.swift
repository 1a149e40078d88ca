// The program: finds the subcommand, prints what it has to say, and ends with its status.

import Foundation
import Server

StandardStreams.open()
var status: ExitStatus
do throws(CommandFailure) {
    switch try CommandList.choose(Array(CommandLine.arguments.dropFirst())) {
    case .help(let text):
        Terminal.print(text)
        status = .passed
    case .version:
        Terminal.print("ringwright \(Program.version)\n")
        status = .passed
    case .run(let arguments):
        status = try await run(arguments)
    }
} catch {
    Terminal.complain(error.description)
    status = error.status
}
if Terminal.isCutShort { status = max(status, .unable) }
exit(status.rawValue)

func run(_ arguments: CommandArguments) async throws(CommandFailure) -> ExitStatus {
    switch arguments.command {
    case "serve": return try await runServe(arguments)
    case "call": return try await runCall(arguments)
    case "campaign": return try await runCampaign(arguments)
    case "load": return try await runLoad(arguments)
    case "sipp": exit(runSipp(arguments.arguments))
    case "demo": return try await runDemo(arguments)
    case "check": return runCheck(arguments)
    case "test": return runTest(arguments)
    case "doctor": return try runDoctor(arguments)
    default: throw CommandFailure(.wrong, "the command \(arguments.command) is not built yet")
    }
}
