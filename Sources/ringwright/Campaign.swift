// `ringwright campaign`: Ctrl-C begins no more calls, a second one ends those that run.

import Reactor
import Server

func runCampaign(_ arguments: CommandArguments) async throws(CommandFailure) -> ExitStatus {
    let options = try CampaignOptions(arguments)
    ProcessSignal.ignoreBrokenPipes()
    let stops = StopRequests()
    let signals = try? InterruptSignal { stops.request() }
    defer { signals?.stop() }
    return Terminal.show(try await CampaignCommand.run(options, stops: stops) { Terminal.progress($0) })
}
