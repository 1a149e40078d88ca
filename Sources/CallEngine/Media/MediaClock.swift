// The beat of a loop's media. Each session is called once a packet time (10 to 60 ms), in a slice of 5 ms. Sessions share a slice until
// it is full, since each is a wake-up of the loop; then they are spread, so that no tick is one long turn of it. One timer drives all
// of it, and none runs without sessions.
//
//   slice     0    1    2    3    4    5              a session with 20 ms in slice 1 comes again in 5, 9, …
//   late      a slice that begins more than one slice after its time is counted; at most 100 ms are caught up with packets,
//             what is older is skipped: the session's RTP timestamp goes on without packets.

import Basics
import Reactor

/// What the clock counted.
package struct MediaClockCounters: Equatable, Sendable {
    /// Calls of sessions.
    package internal(set) var ticks: UInt64 = 0
    /// Slices that held sessions, and those of them that came late.
    package internal(set) var slices: UInt64 = 0
    package internal(set) var lateSlices: UInt64 = 0
    /// Packet times that were left out since they lay too far back.
    package internal(set) var skippedTicks: UInt64 = 0
    /// The latest that a slice began, in nanoseconds.
    package internal(set) var worstLateness: Int64 = 0

    package init() {}
}

/// Calls the sessions of a loop. Belongs to the loop.
final class MediaClock {
    /// Divides every packet time. A slice is a wake-up of the loop, which costs about as much as a packet: shorter ones are felt when
    /// there are few calls, longer ones keep signaling waiting when there are many.
    static let sliceMilliseconds = 5
    private static let sliceNanoseconds = Int64(sliceMilliseconds) * 1_000_000
    /// Slices that a usual packet time of 20 ms has: sessions are spread over so many rows.
    private static let spread = 20 / sliceMilliseconds
    /// Sessions that a row takes before another one is begun: about half a millisecond of work.
    private static let fullRow = 128
    private static let mostCatchUp = 100 / sliceMilliseconds
    /// Slices that are done in one turn of the loop when it is behind.
    private static let slicesPerTurn = 2

    private let loop: EventLoop
    /// Row n: what is due in a slice that leaves n when it is divided by their number. A session with 20 ms never leaves its row, one
    /// with 40 ms is passed over every other time.
    @exclusivity(unchecked) private var rows = [MediaClockRow](repeating: MediaClockRow(), count: spread)
    @exclusivity(unchecked) private var load = [Int](repeating: 0, count: spread)
    /// The last slice that was done.
    @exclusivity(unchecked) private var position = 0
    private let origin: Instant
    @exclusivity(unchecked) private var timer: LoopTimer?
    @exclusivity(unchecked) private(set) var sessionCount = 0
    private(set) var counters = MediaClockCounters()

    init(loop: EventLoop) {
        self.loop = loop
        origin = loop.now
    }

    private var nowSlice: Int { Int((loop.now.nanoseconds - origin.nanoseconds) / Self.sliceNanoseconds) }

    /// Calls `session` every `session.clockPeriod` slices, first after one to two of them.
    func add(_ session: MediaSession) {
        if sessionCount == 0 { position = nowSlice }
        sessionCount += 1
        let next = max(position, nowSlice) + session.clockPeriod + 1
        let best = (next..<next + Self.spread).max { preference($0) < preference($1) } ?? next
        session.clockSpread = best % Self.spread
        load[session.clockSpread] += 1
        session.clockDue = best
        rows[session.clockSpread].append(session)
        schedule(by: best)
    }

    /// The fullest row that has room is best: each row that holds a session is a wake-up more. Where all are full, the emptiest.
    private func preference(_ slice: Int) -> Int {
        let load = load[slice % Self.spread]
        return load < Self.fullRow ? load : -load
    }

    /// Calls a session that was just added one period earlier; does nothing to one that was called already.
    func hasten(_ session: MediaSession) {
        let earlier = session.clockDue - session.clockPeriod
        guard earlier > max(position, nowSlice) else { return }
        let place = session.clockDue % Self.spread
        if earlier % Self.spread != place {
            guard rows[place].removeRecent(session, among: rows[place].count) else { return }
            rows[earlier % Self.spread].append(session)
        }
        session.clockDue = earlier
        schedule(by: earlier)
    }

    func remove(_ session: MediaSession) {
        guard session.clockDue >= 0 else { return }
        // One that was just added is found at once. Others are passed over when their turn comes: a search would cost more than it frees.
        rows[session.clockDue % Self.spread].removeRecent(session, among: 16)
        session.clockDue = -1
        load[session.clockSpread] -= 1
        sessionCount -= 1
        if sessionCount == 0 {
            for row in rows.indices { rows[row].removeLast(rows[row].count) }
            timer?.cancel()
            timer = nil
        }
    }

    /// Sets the timer to the next slice that has sessions.
    private func schedule() {
        guard sessionCount > 0 else { return }
        var next = position + 1
        while rows[next % Self.spread].isEmpty, next <= position + Self.spread { next += 1 }
        schedule(by: next)
    }

    /// Sees to it that the timer comes no later than this slice.
    private func schedule(by slice: Int) {
        let due = Instant(nanoseconds: origin.nanoseconds + Int64(slice) * Self.sliceNanoseconds)
        if let timer, timer.isPending {
            if timer.deadline <= due { return }
            timer.cancel()
        }
        timer = loop.schedule(at: due) { [self] in fire() }
    }

    private func fire() {
        timer = nil
        let now = nowSlice
        var done = 0
        while position < now, sessionCount > 0 {
            if rows[(position + 1) % Self.spread].isEmpty {
                position += 1
                continue
            }
            if done == Self.slicesPerTurn { break }
            position += 1
            done += 1
            run(position, now: now)
        }
        schedule()
    }

    private func run(_ slice: Int, now: Int) {
        let instant = loop.now
        let place = slice % Self.spread
        // The row is this function's while it runs; what is added meanwhile is put behind it.
        var row = MediaClockRow()
        swap(&row, &rows[place])
        let behind = now - slice
        var stay = 0
        var ticks: UInt64 = 0
        var isDue = false
        for index in 0..<row.count {
            row.prefetch(index + 1)
            let session = row.sessions[index]
            if session.clockDue == slice {
                isDue = true
                if behind <= Self.mostCatchUp {
                    session.clockDue = slice + session.clockPeriod
                    ticks += 1
                    session.tick(at: instant)
                } else {
                    skip(session, by: behind - Self.mostCatchUp)
                }
            }
            guard session.clockDue >= 0 else { continue }
            guard session.clockDue % Self.spread == place else {
                rows[session.clockDue % Self.spread].append(session)
                continue
            }
            row.move(index, to: stay)
            stay += 1
        }
        counters.ticks += ticks
        // A row may hold only sessions that are due in a later slice of its own.
        if isDue { count(slice, at: instant) }
        row.removeLast(row.count - stay)
        for session in rows[place].sessions { row.append(session) }
        rows[place] = row
    }

    private func count(_ slice: Int, at instant: Instant) {
        counters.slices += 1
        let lateness = instant.nanoseconds - origin.nanoseconds - Int64(slice) * Self.sliceNanoseconds
        counters.worstLateness = max(counters.worstLateness, lateness)
        if lateness > Self.sliceNanoseconds { counters.lateSlices += 1 }
    }

    /// Leaves out what lies `slices` back and more.
    private func skip(_ session: MediaSession, by slices: Int) {
        let skipped = slices / session.clockPeriod + 1
        counters.skippedTicks += UInt64(skipped)
        session.skip(ticks: skipped)
        session.clockDue += skipped * session.clockPeriod
    }
}

/// Sessions that are due in the same slices. With hundreds of calls, a session has left the processor's caches since its last tick: what a
/// tick reads first is asked for while the one before it is in the kernel.
private struct MediaClockRow {
    private(set) var sessions: [MediaSession] = []
    /// Beside the sessions: a look at the next session would have to wait for it.
    private var places: [(session: ObjectPlace, socket: ObjectPlace)] = []

    var count: Int { sessions.count }
    var isEmpty: Bool { sessions.isEmpty }

    mutating func append(_ session: MediaSession) {
        sessions.append(session)
        places.append((ObjectPlace(session), ObjectPlace(session.rtp)))
    }

    /// Takes a session out if it is one of the last `count`.
    @discardableResult
    mutating func removeRecent(_ session: MediaSession, among count: Int) -> Bool {
        guard let index = sessions.suffix(count).lastIndex(where: { $0 === session }) else { return false }
        sessions.remove(at: index)
        places.remove(at: index)
        return true
    }

    func prefetch(_ index: Int) {
        guard index < places.count else { return }
        places[index].session.prefetch(lines: 8)
        places[index].socket.prefetch(lines: 5)
    }

    mutating func move(_ index: Int, to target: Int) {
        guard index != target else { return }
        sessions[target] = sessions[index]
        places[target] = places[index]
    }

    mutating func removeLast(_ count: Int) {
        guard count > 0 else { return }
        sessions.removeLast(count)
        places.removeLast(count)
    }
}
