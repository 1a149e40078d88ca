import Basics

/// Finds cycles that take no time: so many steps in so little time are no conversation.
struct FlowBudget {
    private var since: Instant
    private var steps = 0
    private static let most = 2_000

    init(at now: Instant) { since = now }

    mutating func spend(at now: Instant, place: SourcePlace?) throws(FlowError) {
        if now - since >= .milliseconds(20) {
            since = now
            steps = 0
        }
        steps += 1
        guard steps <= Self.most else {
            throw FlowError("\(Self.most) steps in no time: a cycle without a prompt or a wait", at: place)
        }
    }
}
