// One attempt with its parties, from the caller's INVITE until both halves are over. It sees to the end: a half whose far side has hung
// up and that gets no BYE is ended here, and the lost BYE is noted with its direction.

import Basics
import CallEngine
import FlowEngine
import Reactor

/// Belongs to the loop of its desk.
final class PartyTest {
    typealias HangUp = @Sendable (HangUpReason) -> Void

    let id: Int
    let attempt: CampaignAttempt
    private var isOver = false
    /// How calls of it that run are ended, by party.
    private var running: [Int: HangUp] = [:]
    private var reports: [PartyReport]
    private var caller: PartyHalf?
    private var lostByes: [(from: String, to: String)] = []
    private var strays: [String] = []
    private var wasInterrupted = false
    private var began: Instant
    private var timer: LoopTimer?
    private let loop: EventLoop
    private let onOver: (PartyOutcome) -> Void
    /// Ends the caller's call; nil while there is none.
    private var hangUpCaller: HangUp?

    /// How long a hang-up may take from one end to the other.
    static let patience = Duration.seconds(5)
    /// How long a call may still come when its caller is gone: an INVITE and a CANCEL overtake each other.
    static let grace = Duration.seconds(1)
    private static let interrupted = HangUpReason(cause: .cancelled)

    /// For a half whose far side is gone. A timeout of the caller's would be a reason to call again.
    private static func left(_ cause: CallEnd.Cause) -> HangUpReason {
        HangUpReason(cause: cause, detail: "its far side had hung up")
    }

    init(
        _ id: Int, _ attempt: CampaignAttempt, _ parties: [PartyPlan], loop: EventLoop,
        onOver: @escaping (PartyOutcome) -> Void
    ) {
        self.id = id
        self.attempt = attempt
        self.loop = loop
        self.onOver = onOver
        began = loop.now
        reports = zip(parties, attempt.parties).map { PartyReport($0, wanted: $1.number) }
    }

    // MARK: What happens

    /// The caller's INVITE goes out.
    func callerBegins(at instant: Instant, hangUp: @escaping HangUp) {
        began = instant
        guard caller == nil else { return }
        hangUpCaller = hangUp
        if wasInterrupted { hangUp(Self.interrupted) }
    }

    /// A party is called.
    /// - Returns: whether it takes the call: its first, and it has a flow.
    func called(
        _ party: Int, at number: String, by match: PartyBoard.Match, at instant: Instant, relay: Int? = nil
    ) -> Bool {
        reports[party].calls += 1
        guard reports[party].calls == 1 else { return false }
        reports[party].number = number
        reports[party].match = match.rawValue
        reports[party].relay = relay
        reports[party].setUp = max(.zero, instant - began)
        return reports[party].plan.flow != nil
    }

    func stray(_ words: String) { strays.append(words) }

    func runs(_ party: Int, hangUp: @escaping HangUp) {
        timer?.cancel()
        running[party] = hangUp
        if wasInterrupted { hangUp(Self.interrupted) } else if caller != nil { waitForByes() }
    }

    func ended(_ party: Int, _ half: PartyHalf) {
        running[party] = nil
        reports[party].half = half
        settle(after: half.wasAnswered ? reports[party].plan : nil)
    }

    func callerEnded(_ half: PartyHalf) {
        caller = half
        hangUpCaller = nil
        settle(after: nil)
    }

    /// Ends it as it is.
    func interrupt() {
        wasInterrupted = true
        hangUpCaller?(Self.interrupted)
        for hangUp in running.values { hangUp(Self.interrupted) }
    }

    // MARK: The end

    /// - Parameter party: it had answered, and its call is over now.
    private func settle(after party: PartyPlan?) {
        guard !isOver else { return }
        timer?.cancel()
        timer = nil
        if caller != nil {
            if !running.isEmpty { return waitForByes() }
            if reports.contains(where: { $0.calls == 0 }), !wasInterrupted {
                timer = loop.schedule(after: Self.grace) { [weak self] in self?.conclude() }
            } else {
                conclude()
            }
        } else if let party, party.agrees.contains(.hangUp), running.isEmpty {
            timer = loop.schedule(after: Self.patience) { [weak self] in
                self?.lostByes.append((party.name, "caller"))
                self?.hangUpCaller?(Self.left(.cancelled))
            }
        }
    }

    /// The caller is gone: whoever still talks should get a BYE.
    private func waitForByes() {
        timer = loop.schedule(after: Self.patience) { [self] in
            for (party, hangUp) in running.sorted(by: { $0.key < $1.key }) {
                if reports[party].plan.agrees.contains(.hangUp) { lostByes.append(("caller", reports[party].name)) }
                hangUp(Self.left(.timeout))
            }
        }
    }

    private func conclude() {
        guard !isOver, let caller else { return }
        isOver = true
        var outcome = PartyOutcome(caller: caller, parties: reports)
        outcome.lostByes = lostByes
        outcome.strays = strays
        outcome.wasInterrupted = wasInterrupted
        outcome.hideSecretKeys()
        onOver(outcome)
    }
}
