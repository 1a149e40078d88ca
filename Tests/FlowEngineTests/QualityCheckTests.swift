// What `expect` says to figures of media: each question passed and failed.

import CallEngine
import FlowEngine
import Testing

@Suite struct QualityCheckTests {
    private func media(
        received: UInt64 = 950, lost: Int64 = 0, late: UInt64 = 0, jitter: Duration = .zero, oneWay: OneWayAudio? = nil
    ) -> MediaReport {
        var media = MediaReport()
        (media.received, media.lost, media.late, media.jitter, media.oneWay) = (received, lost, late, jitter, oneWay)
        return media
    }

    @Test func lossIsTheShareThatDidNotCome() {
        let lossy = media(lost: 50)
        #expect(QualityCheck.loss(5).verdict(on: lossy, codec: "PCMU/8000") == (true, "5%"))
        #expect(QualityCheck.loss(4.9).verdict(on: lossy, codec: "PCMU/8000") == (false, "5%"))
        #expect(QualityCheck.loss(0).verdict(on: media(received: 1001, lost: -1), codec: "PCMU/8000") == (true, "0%"))
        #expect(QualityCheck.loss(0.1).verdict(on: media(received: 599, lost: 1), codec: "PCMU/8000") == (false, "0.17%"))
    }

    @Test func jitterIsThatOfTheMoment() {
        let uneven = media(jitter: .microseconds(30_050))
        #expect(QualityCheck.jitter(.milliseconds(31)).verdict(on: uneven, codec: "PCMU/8000") == (true, "30.05 ms"))
        #expect(QualityCheck.jitter(.milliseconds(30)).verdict(on: uneven, codec: "PCMU/8000") == (false, "30.05 ms"))
    }

    /// A packet that came too late is no better than one that did not come; Opus bears loss a little better.
    @Test(arguments: [(950, 50, 0), (1000, 0, 50)] as [(UInt64, Int64, UInt64)])
    func theScoreFallsWithLoss(received: UInt64, lost: Int64, late: UInt64) {
        let lossy = media(received: received, lost: lost, late: late)
        #expect(QualityCheck.mos(4.4).verdict(on: media(), codec: "PCMA/8000").passed)
        #expect(!QualityCheck.mos(4.2).verdict(on: lossy, codec: "PCMA/8000").passed)
        #expect(QualityCheck.mos(4.1).verdict(on: lossy, codec: "PCMA/8000").passed)
        let scores = ["PCMA/8000", "opus/48000/2"].map { QualityCheck.mos(1).verdict(on: lossy, codec: $0).actual }
        #expect(scores[0] < scores[1], "\(scores)")
        #expect(QualityCheck.mos(1).verdict(on: lossy, codec: "GSM/8000") == (false, "no score for GSM/8000"))
    }

    @Test func audioThatPassesOneWayOnlyIsNamed() {
        let check = QualityCheck.twoWay
        #expect(check.verdict(on: media(), codec: "PCMU/8000") == (true, "950 packets came"))
        #expect(check.verdict(on: media(received: 0), codec: "") == (false, "nothing was heard"))
        #expect(
            check.verdict(on: media(received: 0, oneWay: .hearsNothing), codec: "") == (false, "nothing came from the other side")
        )
        #expect(check.verdict(on: media(oneWay: .isNotHeard), codec: "") == (false, "the other side has received nothing"))
    }
}
