// `transfer`: sends the far side to another target by REFER, blind or attended. When that went well this end hangs up.

import CallEngine

/// Sends the call away.
package struct TransferVerb: Verb {
    package static let name = "transfer"
    package static let takesCall = true
    package static let needs = VerbNeed.answered
    package static let outcomes = TransferResult.Outcome.allCases.filter { $0 != .transferred }.map(\.rawValue)
    package static let example = "transfer: { to: sip:sales@pbx.example.com, attended: true, on: { busy: hangup } }"

    private let target: FlowText
    private var isAttended = false
    private var timeout: FlowLength?
    private var music: Sound?

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            guard let text = step.flow.text(plain, "`transfer`") else { return nil }
            target = text
            return
        }
        guard step.argument != nil, let map = step.open() else {
            step.wrong("a target or a mapping")
            return nil
        }
        guard let text = map.required("to", mend: "to: sip:name@host").flatMap({ step.flow.text($0, "`to`") }) else { return nil }
        target = text
        isAttended = map.bool("attended") ?? false
        timeout = step.length("timeout")
        music = map.node("music").flatMap { Sound.read($0, "`music`", step.flow) }
    }

    package var shape: StepShape { StepShape(takesTime: true) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        let resolved = try run.value(target).text
        let shown = try run.shown(target)
        if let reason = run.environment.refusesBridge(resolved) { throw FlowError("transfer: \(shown): \(reason)") }
        var request = TransferRequest(target: resolved, isAttended: isAttended)
        request.timeout = try run.length(timeout, default: request.timeout)
        request.music = try music.map { try run.source($0) }
        let result = try await run.call.transfer(request)
        run.emit(.transferred(target: shown, outcome: result.outcome.rawValue, status: result.status))
        if result.outcome == .transferred {
            run.call.hangUp(.normal)
            throw FlowTransfer.end
        }
        return StepResult(
            value: .object(["outcome": .string(result.outcome.rawValue), "status": .int(Int64(result.status))]),
            outcome: result.outcome.rawValue)
    }
}
