// What a run of a flow came to.

package import CallEngine

package struct FlowOutcome: Sendable {
    package enum Result: String, Sendable {
        case passed
        /// The called side's doing, or an expectation.
        case failed
        /// This side's doing: a mistake of the flow, a file that is not there.
        case error
    }

    package var flow: String
    package var result: Result
    /// How the call ended; nil when that was not known in time.
    package var end: CallEnd?
    package var expectations: [Expectation]
    package var tags: [(name: String, value: String)]
    /// The error that ended the flow.
    package var error: FlowError?
    /// Paths of the files that were recorded.
    package var recordings: [String]
    /// Keys that the flow sent.
    package var digitsSent: String
    /// The mean opinion score of the worst few seconds; nil when nobody has followed it.
    package var worstScore: Double?
    /// The last step that began.
    package var lastPlace: SourcePlace?
    /// The variables at the end, without secret ones.
    package var variables: [String: Value]
}
