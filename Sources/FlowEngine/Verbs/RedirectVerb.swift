// `redirect`: 302 with other addresses for a call that came in.

import CallEngine

/// Sends the caller elsewhere.
package struct RedirectVerb: Verb {
    package static let name = "redirect"
    package static let needs = VerbNeed.unanswered
    package static let directions = FlowDirection.inbound
    package static let example = "redirect: sip:other@example.com"

    private let contacts: [FlowText]

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            contacts = NodeRead.list(plain).compactMap { step.flow.text($0, "`redirect`") }
        } else {
            guard let map = step.open() else { return nil }
            _ = map.required("to", mend: "to: sip:name@host")
            contacts = step.texts("to") ?? []
        }
        guard !contacts.isEmpty else { return nil }
    }

    package var shape: StepShape { StepShape(continues: false) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        try run.requireInbound(Self.name)
        try run.call.redirect(to: contacts.map { try run.headerValue($0) })
        throw FlowTransfer.end
    }
}
