// `collect`: digits, exactly as the table in docs/flows.md says. The states are in Collect/CollectMachine.swift.

/// Collects digits.
package struct CollectVerb: Verb {
    package static let name = "collect"
    package static let needs = VerbNeed.media
    package static let outcomes = CollectParameters.outcomes
    package static let example = """
        collect:
          prompts: { first: menu.wav, silence: are-you-there.wav, invalid: not-valid.wav }
          min: 4
          max: 6
          into: number
          on: { silence: hangup, invalid: hangup }
        """

    private let parameters: CollectParameters

    package init?(_ step: StepReader) {
        guard let parameters = CollectParameters(step, isMenu: false) else { return nil }
        self.parameters = parameters
    }

    package var shape: StepShape { parameters.shape }
    package func run(_ run: FlowRun) async throws -> StepResult { try await parameters.run(run) }
}
