// The quality of a call while it runs: what is told, when, and that it is about the time since the last figures.

import Basics
import CallEngine
import RTP
import Reactor
import SDP
import TestKit
import Testing

@Suite struct QualityWatchTests {
    private func report(
        sent: UInt64 = 0, received: UInt64 = 0, lost: Int64 = 0, late: UInt64 = 0,
        _ change: (inout MediaReport) -> Void = { _ in }
    ) -> MediaReport {
        var report = MediaReport()
        (report.sent, report.received, report.lost, report.late) = (sent, received, lost, late)
        change(&report)
        return report
    }

    private func figures(_ events: [QualityEvent]) -> QualityFigures? {
        for case .measured(let figures) in events { return figures }
        return nil
    }

    @Test func figuresAreOfTheTimeSinceTheLastOnes() throws {
        var watch = QualityWatch()
        let first = try #require(figures(watch.look(at: report(sent: 250, received: 250), codec: "PCMU/8000")))
        #expect(first.received == 250 && first.lost == 0 && first.lossPercent == 0 && (first.score ?? 0) > 4.3)
        let bad = try #require(
            figures(
                watch.look(at: report(sent: 500, received: 450, lost: 50) { $0.jitter = .milliseconds(7) }, codec: "PCMU/8000")))
        #expect(bad.received == 200 && bad.lost == 50 && bad.lossPercent == 20 && bad.jitter == .milliseconds(7))
        #expect((bad.score ?? 5) < 3)
        // What was missing comes late, and all is well.
        let good = try #require(figures(watch.look(at: report(sent: 750, received: 703, lost: 47, late: 3), codec: "PCMU/8000")))
        #expect(good.received == 253 && good.lost == 0 && good.late == 3 && (good.score ?? 0) > 4)
        // A held call: nothing goes, nothing comes, nothing is told.
        #expect(watch.look(at: report(sent: 750, received: 703, lost: 47, late: 3), codec: "PCMU/8000") == [])
        // Nothing came: there is no score.
        let silent = try #require(
            figures(watch.look(at: report(sent: 1000, received: 703, lost: 47, late: 3), codec: "PCMU/8000")))
        #expect(silent.received == 0 && silent.score == nil)
    }

    @Test func whatChangesIsToldOnce() {
        var watch = QualityWatch()
        func changes(_ report: MediaReport) -> [QualityEvent] {
            watch.look(at: report, codec: "PCMU/8000").filter { if case .measured = $0 { false } else { true } }
        }
        #expect(changes(report(sent: 10)) == [])
        #expect(changes(report(sent: 200) { $0.oneWay = .hearsNothing }) == [.oneWay(.hearsNothing)])
        #expect(changes(report(sent: 300) { $0.oneWay = .hearsNothing }) == [])
        #expect(changes(report(sent: 400, received: 100) { $0.clippedStart = .zero }) == [.oneWay(nil)])
        #expect(
            changes(report(sent: 500, received: 200) { $0.clippedStart = .milliseconds(300) }) == [
                .clippedStart(.milliseconds(300))
            ])
        #expect(changes(report(sent: 600, received: 300) { $0.clippedStart = .milliseconds(300) }) == [])
    }

    @Test func aSessionTellsWithItsReports() throws {
        let world = MediaWorld(seed: 5)
        let (left, right) = try world.pair()
        var looks = 0
        world.listen(to: left, MediaEars(onMeasured: { looks += 1 }))
        _ = left.play(PlaybackRequest([.silence(.seconds(60))]))
        _ = right.play(PlaybackRequest([.silence(.seconds(60))]))
        world.run(.seconds(60))
        // RFC 3550: 5 s on average, half to one and a half of it.
        #expect((8...24).contains(looks), "\(looks)")
        left.close()
        let after = looks
        world.run(.seconds(20))
        #expect(looks == after)
        world.end()
    }

    @Test func aCallTellsHowItsNetworkDoes() throws {
        let world = VirtualWorld(seed: 6)
        let server = try world.engine(
            at: "192.0.2.1",
            onIncoming: { call in
                call.loop.spawn {
                    try? await call.answer()
                    _ = call.play(PlaybackRequest([.silence(.seconds(300))]))
                }
            })
        let callers = try world.engine(at: "192.0.2.2")
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        var events: [QualityEvent] = []
        call.onQuality = { events.append($0) }
        world.loop.run(for: .seconds(30))
        let well = events
        world.network.impairment.loss = 0.1
        world.loop.run(for: .seconds(60))
        let bad = events.dropFirst(well.count + 1)
        world.network.clearImpairments()
        call.onQuality = nil
        let count = events.count
        world.loop.run(for: .seconds(20))
        #expect(events.count == count)
        func figures(_ events: some Sequence<QualityEvent>) -> [QualityFigures] {
            events.compactMap { if case .measured(let figures) = $0 { figures } else { nil } }
        }
        #expect(figures(well).count >= 4 && figures(well).allSatisfy { $0.lossPercent == 0 && $0.score ?? 0 > 4.3 })
        #expect(figures(bad).count >= 6)
        let share = figures(bad).map(\.lossPercent).reduce(0, +) / Double(max(1, figures(bad).count))
        #expect((5...16).contains(share), "\(share)")
        #expect(figures(bad).contains { $0.score ?? 5 < 4 })
        call.hangUp(.normal)
        _ = server
        #expect(world.finish() == [])
    }
}
