// Call-IDs of calls that are over: for a while, what still comes for them is theirs and no stranger's.

import Basics

struct DeadCalls {
    private var recent: Set<UInt64> = []
    private var older: Set<UInt64> = []
    private var turnAt: Instant
    private let wait: Duration

    /// Each is known for `wait`, and up to twice as long.
    init(wait: Duration, now: Instant) {
        self.wait = wait
        turnAt = now + wait
    }

    mutating func insert(_ key: UInt64, at now: Instant) {
        guard wait > .zero else { return }
        turn(now)
        recent.insert(key)
    }

    mutating func holds(_ key: UInt64, at now: Instant) -> Bool {
        turn(now)
        return recent.contains(key) || older.contains(key)
    }

    private mutating func turn(_ now: Instant) {
        guard now >= turnAt else { return }
        older = now - turnAt < wait ? recent : []
        recent = []
        turnAt = now + wait
    }
}
