// `menu`: a `collect` of one choice, in its shortest form: the choices stand beside the prompt.

/// Offers choices by key.
package struct MenuVerb: Verb {
    package static let name = "menu"
    package static let needs = VerbNeed.media
    package static let outcomes = CollectParameters.outcomes
    package static let example = """
        menu:
          prompt: menu.wav
          "1": { play: sales.wav }
          "2": hangup
        """

    private let parameters: CollectParameters

    package init?(_ step: StepReader) {
        guard let parameters = CollectParameters(step, isMenu: true) else { return nil }
        self.parameters = parameters
    }

    package var shape: StepShape { parameters.shape }
    package func run(_ run: FlowRun) async throws -> StepResult { try await parameters.run(run) }
}
