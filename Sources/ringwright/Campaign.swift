// `ringwright campaign`: Ctrl-C begins no more calls, a second one ends those that run.

import Server

func runCampaign(_ arguments: CommandArguments) async throws(CommandFailure) -> ExitStatus {
    let options = try CampaignOptions(arguments)
    return try await runDraining { stops throws(CommandFailure) in
        try await CampaignCommand.run(options, version: Program.version, stops: stops) { Terminal.progress($0) }
    }
}
