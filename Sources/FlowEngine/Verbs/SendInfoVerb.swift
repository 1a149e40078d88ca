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
        if let known = type?.constant, let type, !TextRequest.isMediaType(known) {
            step.sink.error(at: type.place, "`\(known)` is no media type", mend: "type: text/plain")
        }
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
        if let type {
            request.type = try run.headerValue(type)
            guard TextRequest.isMediaType(request.type) else {
                throw FlowError("send-info: `\(try run.shown(type))` is no media type", at: type.place)
            }
        }
        let package = try infoPackage.map { try run.headerValue($0) } ?? ""
        guard package.isEmpty || Self.isPackage(package) else {
            throw FlowError("send-info: `\(package)` is no name of a package", at: infoPackage?.place)
        }
        request.carrier = .info(package: package)
        let result = try await run.call.send(request)
        run.emit(.infoSent(body: try run.shown(body), outcome: result.outcome.rawValue, status: result.status))
        // 202 of INFO is no promise of a server.
        let outcome = result.outcome == .accepted ? TextResult.Outcome.delivered : result.outcome
        if outcome != .delivered {
            let why = [result.status == 0 ? "" : "\(result.status)", result.reason].filter { !$0.isEmpty }.joined(separator: " ")
            run.emit(.warning("send-info: \(outcome.rawValue): \(why)", at: run.currentPlace))
        }
        return StepResult(
            value: .object([
                "outcome": .string(outcome.rawValue), "status": .int(Int64(result.status)), "reason": .string(result.reason)
            ]), outcome: outcome.rawValue)
    }
}
