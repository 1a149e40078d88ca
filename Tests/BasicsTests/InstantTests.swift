import Basics
import Testing

@Suite struct InstantTests {
    @Test func instantsAreRoundedUpToAGrid() {
        let step = Duration.milliseconds(4)
        for (before, after) in [(0, 0), (1, 4_000_000), (3_999_999, 4_000_000), (4_000_000, 4_000_000), (4_000_001, 8_000_000)] {
            #expect(Instant(nanoseconds: Int64(before)).roundedUp(to: step) == Instant(nanoseconds: Int64(after)))
        }
        #expect(Instant.never.roundedUp(to: step) == .never)
    }
}
