// When a busy loop reads its paced sockets and streams: the kernel tells it of the first input, and from then on it looks by itself, once a
// pace, until it finds nothing; as network drivers do with interrupts. It reads nothing itself.
//
//   watched    the kernel wakes the loop; what it woke for is read at once     -- the loop is busy -->  gathering
//   gathering  nobody is woken; looked at when the pace is over                -- nothing there    -->  watched

import Basics

/// The paced sockets and streams of a loop that gather, and when they are looked at.
struct TurnPacing {
    /// Nanoseconds between two looks.
    let pace: Int64
    /// What is read out of turn after a quiet time, before the loop counts as busy: the messages of a call that is alone.
    static let burst: Int64 = 6
    /// Input further apart than so many paces does not gather: the second look would find nothing.
    static let density: Int64 = 2
    private(set) var gathering: [Watcher] = []
    private var lastLook = Int64.min / 2
    /// When the loop would have read so much, had it kept the pace.
    private var keptUntil = Int64.min / 2

    /// `pace` of zero: the loop is never busy.
    init(_ pace: Duration) {
        self.pace = pace.nanoseconds
    }

    /// When the next look is due; nil while nothing gathers.
    var nextLook: Instant? { gathering.isEmpty ? nil : Instant(nanoseconds: lastLook + pace) }

    /// Whether a turn that begins at `now` looks. One that happens anyway does so from the second half of the pace on.
    func looks(at now: Instant) -> Bool { !gathering.isEmpty && now.nanoseconds - lastLook >= pace / 2 }

    /// `watcher` was read at `now` because the kernel said so. Returns false when it is to be watched on, and keeps it otherwise.
    mutating func gathers(_ watcher: Watcher, readAt now: Instant) -> Bool {
        keptUntil = max(keptUntil, now.nanoseconds) + pace
        let isDense = now.nanoseconds - watcher.lastRead <= Self.density * pace
        watcher.lastRead = now.nanoseconds
        guard isDense, keptUntil - now.nanoseconds > Self.burst * pace else { return false }
        if gathering.isEmpty { lastLook = now.nanoseconds }
        gathering.append(watcher)
        return true
    }

    /// Takes out all that gather, for a look at `now`; `watcher`s that had something come back by `keep`.
    mutating func take(at now: Instant) -> [Watcher] {
        lastLook = now.nanoseconds
        keptUntil = max(keptUntil, now.nanoseconds + Self.burst * pace)
        defer { gathering = [] }
        return gathering
    }

    /// `hasMore`: it holds more than was read; the next turn looks.
    mutating func keep(_ watcher: Watcher, hasMore: Bool) {
        gathering.append(watcher)
        watcher.lastRead = lastLook
        if hasMore { lastLook -= pace }
    }

    mutating func remove(_ watcher: Watcher) { gathering.removeAll { $0 === watcher } }
}
