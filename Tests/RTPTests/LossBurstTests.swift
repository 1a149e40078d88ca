// Bursts and gaps of RFC 3611: the same loss rate, spread and in a bunch.

import Basics
import RTP
import Testing

@Suite struct LossBurstTests {
    /// Feeds a stream whose letters are packets: `.` comes, `x` is lost.
    private func statistics(_ stream: String, first: UInt16 = 65_400) -> ReceiveStatistics {
        var statistics = ReceiveStatistics(clockRate: 8000)
        for (number, letter) in stream.enumerated() where letter == "." {
            _ = statistics.receive(
                ssrc: 1, sequence: first &+ UInt16(truncatingIfNeeded: number), timestamp: UInt32(number) * 160,
                at: .zero + .milliseconds(20 * number))
        }
        return statistics
    }

    private func run(_ count: Int) -> String { String(repeating: ".", count: count) }

    @Test func nothingLost() {
        let figures = statistics(run(200)).lossBursts
        #expect(figures.burstDensity == 0 && figures.gapDensity == 0 && figures.burstLength == 0 && figures.gapLength == 200)
        #expect(ReceiveStatistics(clockRate: 8000).lossBursts.gapLength == 0)
    }

    @Test func singleLossesAreNoBurst() {
        let figures = statistics(run(100) + "x" + run(100) + "x" + run(99)).lossBursts
        #expect(figures.burstLength == 0 && figures.burstDensity == 0)
        #expect(abs(figures.gapDensity - 2.0 / 301) < 1e-9)
    }

    @Test func aBunch() {
        // Seven packets, three of them lost; one more lost in the gap before.
        let figures = statistics(run(100) + "x" + run(100) + "x..x..x" + run(100)).lossBursts
        #expect(abs(figures.burstDensity - 3.0 / 7) < 1e-9)
        #expect(abs(figures.burstLength - 7) < 1e-9)
        #expect(abs(figures.gapDensity - 1.0 / 301) < 1e-9)
    }

    @Test func allOfARowLost() {
        let figures = statistics(run(50) + "xxxxxxxxxx" + run(50)).lossBursts
        #expect(figures.burstDensity == 1 && figures.burstLength >= 9 && figures.burstLength <= 11)
    }

    @Test func aBurstThatIsNotOver() {
        let figures = statistics(run(50) + "x.x.").lossBursts
        #expect(figures.burstDensity > 0.5 && figures.burstLength >= 3)
    }

    @Test func anotherSourceGoesOnCounting() {
        var statistics = statistics(run(100) + "xx" + run(100))
        let before = statistics.lossBursts
        for number in 0..<UInt16(100) {
            _ = statistics.receive(ssrc: 2, sequence: number, timestamp: UInt32(number), at: .zero + .seconds(5))
        }
        let after = statistics.lossBursts
        #expect(before.burstLength > 0 && after.burstLength > 0 && after.gapLength < before.gapLength + 101)
    }

    /// What comes out of order is no loss as long as a jitter buffer would have waited for it.
    @Test(arguments: [(25, false), (55, false), (90, true), (300, true)]) func outOfOrder(milliseconds: Int, isTooLate: Bool) {
        var arrivals = (0..<400).map { (at: 20 * $0, number: $0) }
        for index in stride(from: 10, to: 390, by: 20) { arrivals[index].at += milliseconds }
        arrivals.sort { ($0.at, $0.number) < ($1.at, $1.number) }
        var statistics = ReceiveStatistics(clockRate: 8000)
        for packet in arrivals {
            _ = statistics.receive(
                ssrc: 1, sequence: UInt16(packet.number), timestamp: UInt32(packet.number) * 160,
                at: .zero + .milliseconds(packet.at))
        }
        #expect(statistics.lostCount == 0 && statistics.lateCount == (isTooLate ? 19 : 0))
        #expect((statistics.lossBursts.gapDensity > 0) == isTooLate)
    }
}
