import Basics
import RTP
import Testing

@Suite struct ReceiveStatisticsTests {
    /// Feeds sequence numbers 20 ms apart with matching timestamps.
    private func feed(_ statistics: inout ReceiveStatistics, _ sequences: [UInt16], ssrc: UInt32 = 1) -> [Arrival] {
        sequences.enumerated().map { index, sequence in
            statistics.receive(
                ssrc: ssrc, sequence: sequence, timestamp: UInt32(sequence) * 160, at: .zero + .milliseconds(20 * index))
        }
    }

    @Test(
        arguments: [
            ([10, 11, 12], [.first, .next(missing: 0), .next(missing: 0)], 3, 3),
            ([10, 13], [.first, .next(missing: 2)], 4, 2), ([65_535, 0, 1], [.first, .next(missing: 0), .next(missing: 0)], 3, 3),
            ([65_534, 1], [.first, .next(missing: 2)], 4, 2), ([10, 12, 11], [.first, .next(missing: 1), .late], 3, 3),
            ([10, 10], [.first, .duplicate], 1, 1), ([10, 12, 11, 11], [.first, .next(missing: 1), .late, .duplicate], 3, 3),
            ([10, 9, 11], [.first, .late, .next(missing: 0)], 3, 3), ([0, 65_535], [.first, .late], 2, 2),
            ([10, 20_000, 11], [.first, .candidate, .next(missing: 0)], 2, 2),
            ([10, 20_000, 20_001], [.first, .candidate, .restarted], 3, 3),
            ([10, 20_000, 30_000, 20_001], [.first, .candidate, .candidate, .candidate], 1, 1)
        ] as [([UInt16], [Arrival], UInt64, UInt64)])
    func sequences(numbers: [UInt16], arrivals: [Arrival], expected: UInt64, received: UInt64) {
        var statistics = ReceiveStatistics(clockRate: 8000)
        #expect(feed(&statistics, numbers) == arrivals)
        #expect(statistics.expectedCount == expected && statistics.receivedCount == received)
        #expect(statistics.lostCount == expected - received)
    }

    @Test func aSendersCountTellsWhatItSentBefore() {
        var statistics = ReceiveStatistics(clockRate: 8000)
        #expect(statistics.unheardStart(sent: 10, by: 1) == nil)
        _ = feed(&statistics, [30, 31, 33])
        #expect(statistics.unheardStart(sent: 4, by: 1) == 0)
        #expect(statistics.unheardStart(sent: 24, by: 1) == 20)
        // A report that is older than the packets.
        #expect(statistics.unheardStart(sent: 2, by: 1) == 0)
        #expect(statistics.unheardStart(sent: 24, by: 2) == nil)
        // Of another source nothing is known: it may have spoken to somebody else before.
        _ = feed(&statistics, [20_000, 20_001], ssrc: 2)
        #expect(statistics.unheardStart(sent: 100, by: 2) == nil)
    }

    @Test func anotherSourceTakesOverAfterTwoPackets() {
        var statistics = ReceiveStatistics(clockRate: 8000)
        _ = feed(&statistics, [10, 12])
        #expect(feed(&statistics, [500, 501, 502], ssrc: 2) == [.candidate, .restarted, .next(missing: 0)])
        #expect(statistics.ssrc == 2 && statistics.restartCount == 1)
        #expect(statistics.expectedCount == 6 && statistics.receivedCount == 5)
        // A stray packet in between changes nothing.
        #expect(feed(&statistics, [7], ssrc: 3) == [.candidate])
        #expect(feed(&statistics, [503]) == [.candidate])
        #expect(feed(&statistics, [503], ssrc: 2) == [.next(missing: 0)])
    }

    /// A long stream over several cycles, with loss, duplicates and reordering: every count is exact.
    @Test(arguments: 1...8) func countsAreExact(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        var statistics = ReceiveStatistics(clockRate: 8000)
        var sent: [(at: Int, number: Int)] = []
        let total = 150_000
        var lost = 0
        var duplicates = 0
        for number in 0..<total {
            // The first and the last come, so that the span is known.
            if number > 0, number < total - 1, random.happens(0.1) {
                lost += 1
                continue
            }
            let at = number * 20 + (number == 0 || number == total - 1 ? 0 : Int.random(in: 0..<200, using: &random))
            sent.append((at, number))
            if random.happens(0.02) {
                duplicates += 1
                sent.append((at + Int.random(in: 0..<100, using: &random), number))
            }
        }
        for packet in sent.sorted(by: { $0.at < $1.at }) {
            _ = statistics.receive(
                ssrc: 5, sequence: UInt16(truncatingIfNeeded: packet.number + 65_000),
                timestamp: UInt32(truncatingIfNeeded: packet.number * 160), at: .zero + .milliseconds(packet.at))
        }
        #expect(statistics.expectedCount == UInt64(total), "seed \(seed)")
        #expect(statistics.lostCount == UInt64(lost) && statistics.duplicateCount == UInt64(duplicates))
        #expect(statistics.restartCount == 0)
        let made = statistics.makeReport(at: .zero)
        let report = try #require(made)
        #expect(report.cumulativeLost == Int32(lost - duplicates))
        #expect(report.highestSequence == UInt32(65_000 + total - 1))
        // Uniform jitter of 0 to 200 ms: the mean difference of two is a third of that.
        #expect(statistics.jitter > .milliseconds(20) && statistics.jitter < .milliseconds(140))
    }

    @Test func jitterFollowsTheRule() {
        var statistics = ReceiveStatistics(clockRate: 8000)
        // D = 0, then 10 ms = 80 units each time: J += (80 - J) / 16.
        for (index, at) in [0, 20, 50, 60, 90].enumerated() {
            _ = statistics.receive(
                ssrc: 1, sequence: UInt16(index), timestamp: UInt32(index) * 160, at: .zero + .milliseconds(at))
        }
        // 5, 9.69, 14.08 units, cut to sixteenths.
        #expect(abs(statistics.jitter.milliseconds * 8 - 14.06) < 0.1)
        // telephone-event keeps its timestamp, which is no jitter.
        let before = statistics.jitter
        _ = statistics.receive(ssrc: 1, sequence: 5, timestamp: 0, at: .zero + .seconds(3), measuresJitter: false)
        #expect(statistics.jitter == before)
    }

    @Test(
        "the time of a packet is what timestamps of packets in a row tell: neither pauses nor losses do",
        arguments: [80, 160, 320, 480])
    func packetTime(units: UInt32) {
        var statistics = ReceiveStatistics(clockRate: 8000)
        var (sequence, timestamp) = (UInt16(65_530), UInt32.max - 1000)
        func packet(after step: UInt32, lost: UInt16 = 0) {
            sequence &+= lost + 1
            timestamp &+= step
            _ = statistics.receive(ssrc: 1, sequence: sequence, timestamp: timestamp, at: .zero)
        }
        packet(after: units)
        packet(after: units)
        #expect(statistics.packetTime == nil)
        packet(after: units)
        let time = Duration.milliseconds(Int(units) / 8)
        #expect(statistics.packetTime == time)
        // Comfort noise every 200 ms, every other packet lost, and one pause.
        for _ in 0..<3 { packet(after: 1600) }
        for _ in 0..<3 { packet(after: units * 2, lost: 1) }
        packet(after: 40)
        #expect(statistics.packetTime == time)
        for _ in 0..<2 { packet(after: 240) }
        #expect(statistics.packetTime == .milliseconds(30))
        statistics.change(clockRate: 48_000)
        #expect(statistics.packetTime == nil)
    }

    @Test func fractionsAreOfTheTimeSinceTheLastReport() throws {
        var statistics = ReceiveStatistics(clockRate: 8000)
        #expect(statistics.makeReport(at: .zero) == nil)
        _ = feed(&statistics, [0, 1, 2, 7])
        let half = statistics.makeReport(at: .zero)
        #expect(half?.fractionLost == 128)
        _ = feed(&statistics, [8, 9, 10])
        let made = statistics.makeReport(at: .zero)
        let report = try #require(made)
        #expect(report.fractionLost == 0 && report.cumulativeLost == 4 && report.lastSenderReport == 0)
    }

    @Test(
        arguments: [
            (0, 100, nil, LossImpairment.g711, 4.409), (5, 100, nil, .g711, 3.954), (5, 100, nil, .opus, 4.0),
            (0, 100, nil, .g729, 4.06),
            (0, 100, 90, .g711, 4.409), (0, 100, 400, .g711, 3.6), (100, 100, nil, .g711, 1.1), (200, 100, 800, .gsm, 1.0)
        ] as [(UInt64, UInt64, Int?, LossImpairment, Double)])
    func opinionScores(lost: UInt64, expected: UInt64, delay: Int?, codec: LossImpairment, about: Double) throws {
        let score = try #require(
            Quality.score(lost: lost, expected: expected, delay: delay.map { .milliseconds($0) }, codec: codec))
        #expect(abs(score - about) < 0.35, "\(score)")
        #expect((1...4.5).contains(score))
    }

    @Test func noScoreWithoutPackets() { #expect(Quality.score(lost: 0, expected: 0) == nil) }
}
