// How far the wall clock is ahead of the loop's, by which the kernel's stamps are read.

import Reactor
import Testing

@Suite struct ClockLeadTests {
    /// A thread that was stopped between its looks at the two clocks looks again.
    @Test func whoWasStoppedLooksAgain() {
        // The wall clock is 1,000,000 ahead; at first three milliseconds pass between the looks.
        var looks: [(before: Int64, wall: Int64, after: Int64)] = [
            (0, 1_000_000, 3_000_000), (4_000_000, 7_999_900, 7_000_000), (8_000_000, 9_000_050, 8_000_100), (0, 0, 0)
        ]
        #expect(ClockLead.measured { looks.removeFirst() } == 1_000_000)
        #expect(looks.count == 1, "a quick one is enough")
    }

    @Test func theQuickestOfAFewCounts() {
        var looks: [(before: Int64, wall: Int64, after: Int64)] = [
            (0, 500, 900_000), (1_000_000, 2_005_000, 1_010_000), (2_000_000, 2_000_000, 2_500_000),
            (3_000_000, 3_000_000, 3_100_000)
        ]
        #expect(ClockLead.measured { looks.removeFirst() } == 1_000_000)
        #expect(looks.isEmpty)
    }
}
