// `reject`: a final refusal (400 to 699) of a call that came in.

import CallEngine

/// Refuses the call.
package struct RejectVerb: Verb {
    package static let name = "reject"
    package static let needs = VerbNeed.unanswered
    package static let directions = FlowDirection.inbound
    package static let example = "reject: { status: 486, reason: Busy Here }"

    private let status: Int
    private let reason: FlowText?
    private let headers: [(name: String, value: FlowText)]

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            guard let status = NodeRead.int(plain, "`reject`", in: 400...699, step.sink) else { return nil }
            self.status = status
            reason = nil
            headers = []
            return
        }
        guard let map = step.open() else { return nil }
        status = map.int("status", in: 400...699) ?? 603
        reason = step.text("reason")
        headers = step.headers("headers")
    }

    package var shape: StepShape { StepShape(continues: false) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        try run.requireInbound(Self.name)
        let fields = try headers.map { CallHeader(name: $0.name, value: try run.headerValue($0.value)) }
        try run.call.reject(status: status, reason: reason.map { try run.headerValue($0) }, headers: fields)
        throw FlowTransfer.end
    }
}

extension FlowRun {
    func requireInbound(_ verb: String) throws {
        if call.direction == .outbound { throw FlowError("\(verb): only a call that came in can be refused or redirected") }
    }

    /// A value that becomes part of a message: no line may begin in it.
    func headerValue(_ text: FlowText) throws -> String {
        let value = try self.text(text)
        guard !value.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw FlowError("a header value holds control signs", at: text.place)
        }
        return value
    }
}
