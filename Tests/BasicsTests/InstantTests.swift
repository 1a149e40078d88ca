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

    @Test func durationsAreWholeNanoseconds() {
        let atto = Duration(attoseconds: 1_999_999_999)
        for (length, nanoseconds) in [
            (Duration.zero, 0), (.nanoseconds(1), 1), (atto, 1), (.milliseconds(20), 20_000_000), (.seconds(9), 9_000_000_000),
            (.seconds(4723), 4_723_000_000_000), (.seconds(1_000_000_000), 1_000_000_000_000_000_000),
            (.nanoseconds(-1), -1), (.seconds(-60), -60_000_000_000), (.seconds(Int64.max), .max), (.seconds(Int64.min), .min)
        ] as [(Duration, Int64)] {
            #expect(length.nanoseconds == nanoseconds)
        }
    }
}
