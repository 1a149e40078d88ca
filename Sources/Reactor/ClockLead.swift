import CLinux

/// How far the wall clock, by which the kernel stamps datagrams, is ahead of the monotonic one of the loops.
package enum ClockLead {
    /// How far the wall clock is ahead of the monotonic one, in nanoseconds. A thread may be stopped between its looks at them: of a few tries
    /// the quickest counts.
    /// - Parameter look: the wall clock, between two looks at the monotonic one.
    package static func measured(_ look: () -> (before: Int64, wall: Int64, after: Int64)) -> Int64 {
        var (lead, quickest) = (Int64(0), Int64.max)
        for _ in 0..<4 where quickest > 2_000 {
            let (before, wall, after) = look()
            guard after - before < quickest else { continue }
            quickest = after - before
            lead = wall - before - quickest / 2
        }
        return lead
    }

    static func measured() -> Int64 { measured(lookAtClocks) }

    private static func lookAtClocks() -> (before: Int64, wall: Int64, after: Int64) {
        var time = timespec()
        let before = SystemCall.monotonicNanoseconds()
        clock_gettime(CLOCK_REALTIME, &time)
        return (before, Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec), SystemCall.monotonicNanoseconds())
    }
}
