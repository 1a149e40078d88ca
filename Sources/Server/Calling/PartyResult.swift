// The result of a test with several parties: the caller's result, as of any call, with what both halves had to agree about, and each
// party's own (docs/campaigns.md).

import Basics
import CallEngine
import Dialer
import FlowEngine

struct PartyResult {
    private let outcome: PartyOutcome
    private let attempt: CampaignAttempt
    private let caller: CallResult
    private let agreed: [Expectation]

    init(_ outcome: PartyOutcome, _ attempt: CampaignAttempt) {
        self.outcome = outcome
        self.attempt = attempt
        caller = Self.result(of: outcome.caller, target: attempt.destination, outcome.wasInterrupted)
        agreed = PartyJudge.expectations(outcome)
    }

    private static func result(of half: PartyHalf, target: String, _ wasInterrupted: Bool) -> CallResult {
        var result = CallResult(
            info: half.info, end: half.end, target: target, outcome: half.outcome, digitsReceived: half.digitsReceived)
        result.wasInterrupted = wasInterrupted
        return result
    }

    /// The caller's own verdict first: parties that agree make no call good that failed.
    private var verdict: AttemptResult.Verdict {
        let isBroken =
            outcome.parties.contains { $0.half?.outcome.result == .error }
            || outcome.halves.contains { !$0.recordingFailure.isEmpty }
        return switch caller.verdict {
        case .error: .error
        case _ where isBroken: .error
        case .failed: .failed
        case .passed: agreed.allSatisfy(\.passed) ? .passed : .failed
        }
    }

    var attemptResult: AttemptResult {
        var whole = caller
        whole.expectations += agreed
        let verdict = verdict
        var members = whole.members.map { member in
            member.name == "result" ? (name: member.name, value: JSONText.string(verdict.rawValue)) : member
        }
        members += [
            ("parties", .array(outcome.parties.map(json))), ("row", .count(attempt.row)), ("attempt", .count(attempt.number))
        ]
        var result = AttemptResult(
            verdict: verdict, cause: caller.end.cause, status: caller.status, json: JSONText.object(members).text)
        result.answer = caller.timings.answer?.milliseconds
        result.duration = caller.timings.total?.milliseconds
        result.score = VoiceQuality.meanOpinionScore(of: caller.media, codec: caller.codec)
        return result
    }

    private func json(_ party: PartyReport) -> JSONText {
        .object([
            ("party", .string(party.name)), ("calls", .count(party.calls)), ("number", party.number.map { .string($0) } ?? .null),
            ("matched_by", party.match.map { .string($0) } ?? .null), ("relayed_by", party.relay.map { .count($0) } ?? .null),
            ("setup_ms", .milliseconds(party.setUp)),
            ("heard", Self.json(party.heard)), ("was_heard", Self.json(party.wasHeard)),
            (
                "call",
                party.half.map { Self.result(of: $0, target: $0.info.to.uri, outcome.wasInterrupted).json } ?? .null
            )
        ])
    }

    private static func json(_ sound: PartySound.Comparison?) -> JSONText {
        guard let sound else { return .null }
        return .object([
            ("of_ms", .milliseconds(sound.said)), ("ms", .milliseconds(sound.heard)), ("latency_ms", .milliseconds(sound.latency))
        ])
    }
}
