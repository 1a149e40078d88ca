// When a busy loop reads its paced sockets and streams: the kernel tells it of the first input, and from then on it looks by itself, once a
// pace, until nothing came for a while; as network drivers do with interrupts. It reads nothing itself.
//
//   watched    the kernel wakes the loop; what it woke for is read at once     -- the loop is busy -->  gathering
//   gathering  nobody is woken; looked at when the pace is over                -- nothing for two  -->  watched

import Basics

/// The paced sockets and streams of a loop that gather, and when they are looked at.
struct TurnPacing {
    /// Nanoseconds between two looks.
    let pace: Int64
    /// What is read out of turn after a quiet time, before the loop counts as busy: the messages of a call that is alone.
    static let burst: Int64 = 6
    /// Input further apart than so many paces does not gather.
    static let density: Int64 = 2
    private(set) var gathering: [Watcher] = []
    private var lastLook = Int64.min / 2
    /// When the next look is due, if no turn happens anyway.
    private var due = Int64.min / 2
    /// When the loop would have read so much, had it kept the pace.
    private var keptUntil = Int64.min / 2

    /// `pace` of zero: the loop is never busy.
    init(_ pace: Duration) {
        self.pace = pace.nanoseconds
    }

    /// When the next look is due; nil while nothing gathers.
    var nextLook: Instant? { gathering.isEmpty ? nil : Instant(nanoseconds: due) }

    /// Whether a turn that begins at `now` looks. One that happens anyway does so from the second half of the pace on; an earlier one
    /// puts the look off by as much, so that turns in a rhythm of their own and looks become the same.
    mutating func looks(at now: Instant) -> Bool {
        guard !gathering.isEmpty else { return false }
        if now.nanoseconds - lastLook >= pace / 2 { return true }
        due = now.nanoseconds + pace
        return false
    }

    /// `watcher` was read at `now` because the kernel said so. Returns false when it is to be watched on, and keeps it otherwise.
    mutating func gathers(_ watcher: Watcher, readAt now: Instant) -> Bool {
        keptUntil = max(keptUntil, now.nanoseconds) + pace
        let isDense = now.nanoseconds - watcher.lastRead <= Self.density * pace
        watcher.lastRead = now.nanoseconds
        guard isDense, keptUntil - now.nanoseconds > Self.burst * pace else { return false }
        if gathering.isEmpty { looked(at: now) }
        gathering.append(watcher)
        return true
    }

    /// Takes out all that gather, for a look at `now`; those that go on gathering come back by `keeps`.
    mutating func take(at now: Instant) -> [Watcher] {
        looked(at: now)
        keptUntil = max(keptUntil, now.nanoseconds + Self.burst * pace)
        defer { gathering = [] }
        return gathering
    }

    /// A look found `count` in a watcher. `hasMore`: it holds more than was read; the next turn looks.
    /// Returns false when the kernel is to watch it again.
    mutating func keeps(_ watcher: Watcher, count: Int, hasMore: Bool) -> Bool {
        if count > 0 { watcher.lastRead = lastLook }
        guard lastLook - watcher.lastRead < Self.density * pace else { return false }
        gathering.append(watcher)
        if hasMore {
            lastLook -= pace
            due -= pace
        }
        return true
    }

    mutating func remove(_ watcher: Watcher) { gathering.removeAll { $0 === watcher } }

    private mutating func looked(at now: Instant) {
        lastLook = now.nanoseconds
        due = now.nanoseconds + pace
    }
}
