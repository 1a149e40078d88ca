// What a configuration gives the flows that run under it.

package import FlowEngine

extension Configuration {
    /// The surroundings of one run.
    /// - Parameters:
    ///   - arguments: the route's `vars`, or `--var`.
    ///   - requester: nil: `request` fails with that reason.
    package func flowEnvironment(arguments: [String: Value] = [:], requester: (any WebRequester)? = nil) -> FlowEnvironment {
        var result = FlowEnvironment()
        result.variables = environment
        result.arguments = arguments
        result.recordingsFolder = recordings
        result.requester = requester
        let allow = allow
        result.refusesBridge = { allow.refusal(ofBridge: $0) }
        result.refusesRequest = { allow.refusal(ofRequest: $0) }
        return result
    }
}
