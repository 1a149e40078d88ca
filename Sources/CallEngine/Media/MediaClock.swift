// The beat of a loop's media. Each session is called once a packet time (10 to 60 ms); the sessions are spread over slices of 2 ms,
// so that a full tick is never one long turn of the loop. One timer drives all of it, and none runs without sessions.
//
//   slice     0    1    2   …   9   10   11           a session with 20 ms in slice 1 comes again in 11, 21, …
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
    static let sliceLength = Duration.milliseconds(2)
    /// The farthest place of a session that was just added: 60 ms, and where there is room in the next 20.
    private static let wheelSize = 41
    /// Slices that a usual packet time of 20 ms has: sessions are spread over so many.
    private static let spread = 10
    private static let mostCatchUp = 50
    /// Slices that are done in one turn of the loop when it is behind.
    private static let slicesPerTurn = 5

    private let loop: EventLoop
    @exclusivity(unchecked) private var wheel = [[MediaSession]](repeating: [], count: wheelSize)
    @exclusivity(unchecked) private var load = [Int](repeating: 0, count: spread)
    private var current: [MediaSession] = []
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

    private static let sliceNanoseconds = sliceLength.nanoseconds

    private var nowSlice: Int { Int((loop.now - origin).nanoseconds / Self.sliceNanoseconds) }

    /// Calls `session` every `session.clockPeriod` slices, first after one to two of them.
    func add(_ session: MediaSession) {
        if sessionCount == 0 { position = nowSlice }
        sessionCount += 1
        let next = max(position, nowSlice) + session.clockPeriod
        var best = next
        for slice in next..<next + Self.spread where load[slice % Self.spread] < load[best % Self.spread] { best = slice }
        session.clockSpread = best % Self.spread
        load[session.clockSpread] += 1
        session.clockDue = best
        wheel[best % Self.wheelSize].append(session)
        schedule(by: best)
    }

    /// Calls a session that was just added one period earlier; does nothing to one that was called already.
    func hasten(_ session: MediaSession) {
        let earlier = session.clockDue - session.clockPeriod
        guard earlier > max(position, nowSlice) else { return }
        let place = session.clockDue % Self.wheelSize
        guard let index = wheel[place].lastIndex(where: { $0 === session }) else { return }
        wheel[place].remove(at: index)
        session.clockDue = earlier
        wheel[earlier % Self.wheelSize].append(session)
        schedule(by: earlier)
    }

    func remove(_ session: MediaSession) {
        guard session.clockDue >= 0 else { return }
        // One that was just added is found at once. Others are passed over when their turn comes: a search would cost more than it frees.
        let place = session.clockDue % Self.wheelSize
        if let index = wheel[place].suffix(16).lastIndex(where: { $0 === session }) { wheel[place].remove(at: index) }
        session.clockDue = -1
        load[session.clockSpread] -= 1
        sessionCount -= 1
        if sessionCount == 0 {
            for slice in wheel.indices where !wheel[slice].isEmpty { wheel[slice].removeAll(keepingCapacity: true) }
            timer?.cancel()
            timer = nil
        }
    }

    /// Sets the timer to the next slice that has sessions.
    private func schedule() {
        guard sessionCount > 0 else { return }
        var next = position + 1
        while wheel[next % Self.wheelSize].isEmpty, next <= position + Self.wheelSize { next += 1 }
        schedule(by: next)
    }

    /// Sees to it that the timer comes no later than this slice.
    private func schedule(by slice: Int) {
        let due = origin + .nanoseconds(Int64(slice) * Self.sliceNanoseconds)
        if let timer, timer.isPending {
            if timer.deadline <= due { return }
            timer.cancel()
        }
        timer = loop.schedule(at: due) { [weak self] in self?.fire() }
    }

    private func fire() {
        timer = nil
        let now = nowSlice
        var done = 0
        while position < now, sessionCount > 0 {
            if wheel[(position + 1) % Self.wheelSize].isEmpty {
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
        counters.slices += 1
        let lateness = (loop.now - origin).nanoseconds - Int64(slice) * Self.sliceNanoseconds
        counters.worstLateness = max(counters.worstLateness, lateness)
        if lateness > Self.sliceNanoseconds { counters.lateSlices += 1 }
        swap(&current, &wheel[slice % Self.wheelSize])
        for index in current.indices {
            let session = current[index]
            guard session.clockDue >= 0 else { continue }
            guard session.clockDue <= slice else {
                wheel[session.clockDue % Self.wheelSize].append(session)
                continue
            }
            let behind = now - slice
            if behind > Self.mostCatchUp {
                let skipped = (behind - Self.mostCatchUp) / session.clockPeriod + 1
                counters.skippedTicks += UInt64(skipped)
                session.skip(ticks: skipped)
                session.clockDue = slice + skipped * session.clockPeriod
            } else {
                session.clockDue = slice + session.clockPeriod
                counters.ticks += 1
                session.tick()
                guard session.clockDue >= 0 else { continue }
            }
            wheel[session.clockDue % Self.wheelSize].append(session)
        }
        current.removeAll(keepingCapacity: true)
    }
}
