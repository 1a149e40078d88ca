// One attempt to call a target, and what came of it.

import Basics
package import CallEngine
package import FlowEngine

/// A call that is to be placed.
package struct CampaignAttempt: Sendable {
    /// The row of the list, from 1.
    package var row: Int
    /// The attempt, from 1.
    package var number: Int
    /// Whom to call.
    package var destination: String
    package var callerID: String?
    package var variables: [String: Value]
    /// `target` of expressions.
    package var target: Value
    /// In the order of the plan's parties.
    package var parties: [Party] = []
    /// The mark of the caller's INVITE, by which a party's call is known again (PartyMark); empty without parties.
    package var token = ""
    /// The destination limits that it counts for, by their places in the plan.
    var limits: [Int] = []
    /// Who has it in hand.
    var worker = 0

    /// How a party of this attempt is called.
    package struct Party: Sendable {
        /// nil: at any number.
        package var number: String?
        package var variables: [String: Value] = [:]
    }
}

extension CampaignAttempt {
    /// An attempt of a row; whom it calls is told by `fill`.
    package init(row: Int, number: Int, target: Value) {
        self.init(row: row, number: number, destination: "", variables: [:], target: target)
    }

    /// The next attempt of a row.
    init(_ target: CampaignStore.Target, of worker: Int) {
        self.init(row: target.row, number: target.attempts + 1, target: target.data)
        self.worker = worker
    }

    /// Evaluates what the plan says about the row. Returns why that cannot be done: nobody is called then, and `destination` stays empty.
    package mutating func fill(from plan: CampaignPlan) -> String? {
        let scope = MapScope(["target": target, "campaign": .object(["name": .string(plan.name)])])
        do throws(ExpressionError) {
            let to = try plan.to.text(in: scope)
            callerID = try plan.callerID?.text(in: scope)
            for (name, value) in plan.vars { variables[name] = try value.evaluate(in: scope) }
            parties = try plan.parties.map { party throws(ExpressionError) in
                var called = Party(number: try party.number?.text(in: scope))
                for (name, value) in party.vars { called.variables[name] = try value.evaluate(in: scope) }
                return called
            }
            if to.isEmpty { return "`to` is empty" }
            if let (party, _) = zip(plan.parties, parties).first(where: { $1.number?.isEmpty == true }) {
                return "`number` of the party `\(party.name)` is empty"
            }
            if !parties.isEmpty { token = Self.newToken() }
            destination = to
            return nil
        } catch {
            return error.message
        }
    }
}

extension CampaignAttempt {
    /// Long enough that nobody else has it, and hexadecimal (RFC 7433).
    private static func newToken() -> String {
        let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// What came of it.
package struct AttemptResult: Sendable {
    package enum Verdict: String, Sendable {
        case passed
        /// The called side's doing, or an expectation.
        case failed
        /// This side's doing.
        case error
    }

    package var verdict: Verdict
    package var cause: CallEnd.Cause
    /// 0 when no answer came.
    package var status: Int
    /// The result as scripts read it, one JSON object (docs/commands.md).
    package var json: String
    /// What people want to see of a call that did not pass: the messages; nil without.
    package var ladder: String?
    /// Milliseconds from the INVITE to the answer; nil without one.
    package var answer: Double?
    /// Milliseconds from the INVITE to the end.
    package var duration: Double?
    /// Mean opinion score; nil without media.
    package var score: Double?

    package init(verdict: Verdict, cause: CallEnd.Cause, status: Int, json: String) {
        self.verdict = verdict
        self.cause = cause
        self.status = status
        self.json = json
    }

    /// How the detail of an attempt begins whose end nobody saw.
    static let inTheAir = "in the air when the campaign was killed"

    /// Of an attempt that was never made, or whose end nobody saw: this side's doing.
    package static func unseen(_ attempt: CampaignAttempt, flow: String, detail: String) -> AttemptResult {
        unseen(row: attempt.row, number: attempt.number, destination: attempt.destination, flow: flow, detail: detail)
    }

    static func unseen(row: Int, number: Int, destination: String, flow: String, detail: String) -> AttemptResult {
        let object = JSONText.object([
            ("call", ""), ("target", .string(destination)), ("flow", .string(flow)), ("result", "error"),
            ("sip", .object([("status", 0), ("reason", "")])),
            ("ended", .object([("by", "engine"), ("cause", "error"), ("detail", .string(detail))])),
            (
                "timings",
                .object(["trying_ms", "ringing_ms", "first_media_ms", "answer_ms", "duration_ms"].map { ($0, .null) })
            ),
            ("media", .null), ("digits", .object([("sent", ""), ("received", "")])), ("expectations", .array([])),
            ("row", .count(row)), ("attempt", .count(number))
        ])
        return AttemptResult(verdict: .error, cause: .error, status: 0, json: object.text)
    }
}
