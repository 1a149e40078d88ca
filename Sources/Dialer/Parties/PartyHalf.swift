// What is known of one half of a test when its call is over. Plain values.

package import Basics
package import CallEngine
package import FlowEngine

package struct PartyHalf: Sendable {
    /// `caller`, or the party's name.
    package var name: String
    package var info: CallInfo
    package var end: CallEnd
    package var outcome: FlowOutcome
    package var digitsReceived: String
    /// The Call-ID of its messages; empty when none was sent.
    package var callID: String
    /// Keys that the flow sent, with the time at which it began to.
    package var keysSent: [(at: Instant, keys: String)] = []
    /// Some of the keys that it sent or got are secret.
    package var hasSecretKeys = false
    /// Both sides: the far one left, this one right. nil: it was not recorded.
    package var recording: RecordingResult?
    /// Why the recording that was wanted is not there, or not whole; empty when it is.
    package var recordingFailure = ""
    /// The time of the recording's first sample.
    package var recordedFrom: Instant?

    package var wasAnswered: Bool { info.answered != nil }
    /// From the answer to the end.
    var talk: ClosedRange<Instant>? {
        guard let answered = info.answered else { return nil }
        return answered...max(answered, info.ended ?? answered)
    }

    fileprivate mutating func hideKeys() {
        keysSent = []
        outcome.digitsSent = ""
        digitsReceived = ""
    }

    /// This end hung up.
    var hungUp: Bool { wasAnswered && end.cause != .timeout && end.by == (info.direction == .outbound ? .caller : .callee) }
}

/// The called half: how it was called, and its call.
package struct PartyReport: Sendable {
    package var name: String
    package var plan: PartyPlan
    /// How often.
    package var calls = 0
    /// The number that it was to be called at; nil: any.
    package var wanted: String?
    /// The number that it was called at, when it was.
    package var number: String?
    /// `mark` or `number`: what told whose call it was.
    package var match: String?
    /// The worker at which the call came in and that passed it on to this one; nil: it came here.
    package var relay: Int?
    /// From the caller's INVITE to its own.
    package var setUp: Duration?
    /// Its first call.
    package var half: PartyHalf?
    /// What it heard of the caller, and what the caller heard of it; nil: it was not compared.
    package var heard: PartySound.Comparison?
    package var wasHeard: PartySound.Comparison?

    init(_ plan: PartyPlan, wanted: String?) {
        (name, self.plan, self.wanted) = (plan.name, plan, wanted)
    }
}

/// All that came of one attempt with parties.
package struct PartyOutcome: Sendable {
    package var caller: PartyHalf
    package var parties: [PartyReport]
    /// Halves that got no BYE although their far side had hung up: from whom, to whom.
    package var lostByes: [(from: String, to: String)] = []
    /// Calls that belong to the test and to none of its parties.
    package var strays: [String] = []
    /// It was ended from outside.
    package var wasInterrupted = false

    /// Those that there were, the caller's first.
    package var halves: [PartyHalf] { [caller] + parties.compactMap(\.half) }
    package var hasSecretKeys: Bool { halves.contains(where: \.hasSecretKeys) }

    /// What is secret at one half is known at the others: where there are secret keys, those of no half are told.
    mutating func hideSecretKeys() {
        guard hasSecretKeys else { return }
        caller.hideKeys()
        for index in parties.indices { parties[index].half?.hideKeys() }
    }
}
