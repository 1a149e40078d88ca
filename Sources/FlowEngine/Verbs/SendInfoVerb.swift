// `send-info`: a body by INFO (RFC 6086) to the far side of the call, for PBXs and agents that are told of something so. Keys have
// `send-digits`.

import CallEngine

/// Sends a body that is meant for a program.
package struct SendInfoVerb: Verb {
    package static let name = "send-info"
    package static let needs = VerbNeed.answered
    package static let outcomes = [TextResult.Outcome.delivered, .refused, .noAnswer, .unreachable].map(\.rawValue)
    package static let example =
        "send-info: { type: application/x-desk, body: \"state=busy\", on: { refused: { log: not known } } }"

    private let body: FlowText
    private var type: FlowText?
    private var infoPackage: FlowText?
    private var timeout: FlowLength?

    package init?(_ step: StepReader) {
        let read: FlowText?
        if let plain = step.plain {
            read = step.flow.text(plain, "`send-info`")
        } else {
            guard step.argument != nil, step.open() != nil else {
                step.wrong("a body or a mapping")
                return nil
            }
            read = step.requiredText("body", mend: "body: \"state=busy\"")
            type = step.text("type")
            infoPackage = step.text("package")
            timeout = step.length("timeout")
        }
        guard let read else { return nil }
        body = read
        SentText.check(type, step.sink)
        if let known = infoPackage?.constant, let infoPackage, !Self.isPackage(known) {
            step.sink.error(at: infoPackage.place, "`\(known)` is no name of a package", mend: "package: x-desk")
        }
    }

    /// A token (RFC 6086 section 5.2).
    private static func isPackage(_ name: String) -> Bool { TextRequest.isMediaType("x/\(name)") && !name.contains(";") }

    package var shape: StepShape {
        var shape = StepShape(takesTime: true)
        shape.exhaustive = Self.outcomes
        return shape
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        var request = TextRequest(try run.text(body))
        request.timeout = try run.length(timeout, default: request.timeout)
        var package = ""
        if let infoPackage {
            package = try run.headerValue(infoPackage)
            guard package.isEmpty || Self.isPackage(package) else {
                throw FlowError("send-info: `\(try run.shown(infoPackage))` is no name of a package", at: infoPackage.place)
            }
        }
        request.carrier = .info(package: package)
        let answer = try await SentText.send(request, type, for: Self.name, run)
        // 202 of INFO is no promise of a server.
        let outcome = answer.outcome == .accepted ? TextResult.Outcome.delivered : answer.outcome
        run.emit(.infoSent(body: try run.shown(body), outcome: outcome.rawValue, status: answer.status))
        return SentText.result(answer, as: outcome, of: Self.name, run)
    }
}
