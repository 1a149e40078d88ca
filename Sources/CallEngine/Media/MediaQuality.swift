// How both sides of a session hear each other: what goes out as VoIP metrics (RFC 3611), what the far side tells, and whether audio
// passes one way only.

import Audio
import Basics
import RTP
import Reactor

/// What the far side's reports say about our stream; made with the first of them.
final class FarHearing {
    /// SR and RR that came.
    var reports = 0
    private(set) var report: RemoteReception?
    var roundTrip: Duration?
    /// Packets of the far side that never came since they were sent before the first that did; nil before its first report.
    var unheardStart: UInt64?

    func note(_ block: ReportBlock, clockRate: Int) {
        let jitter = Duration.nanoseconds(Int64(block.jitter) * 1_000_000_000 / Int64(clockRate))
        report = RemoteReception(lost: Int64(block.cumulativeLost), jitter: jitter, score: report?.score)
    }

    func note(_ metrics: VoIPMetrics) { report?.score = metrics.listeningScore }
}

extension MediaSession {
    /// The latest; nil before a report of the far side told it.
    var roundTrip: Duration? { hearing?.roundTrip }

    func farHearing() -> FarHearing {
        if let hearing { return hearing }
        let made = FarHearing()
        hearing = made
        return made
    }

    /// Whether the stream has run for so long, in seconds, and was sent: of pauses there is a packet every 400 ms (comfort noise, DTX).
    private func hasSent(seconds: UInt32) -> Bool {
        stream.elapsed >= seconds * UInt32(codec.clockRate) && stream.packetCount >= seconds * 1000 / 400
    }

    /// Whom nobody hears, as far as packets and reports tell. Less than two seconds say nothing.
    var oneWay: OneWayAudio? {
        if expectsMedia, !hasHeard, hasSent(seconds: 2) { return .hearsNothing }
        // One report may have crossed our first packets.
        if maySend, let hearing, hearing.reports >= 2, hearing.report == nil, hasSent(seconds: 5) { return .isNotHeard }
        return nil
    }

    /// How much of the far side's beginning we did not hear, by its first report; less than 100 ms may still be on its way.
    var clippedStart: Duration? {
        guard let packets = hearing?.unheardStart else { return nil }
        let length = farPacketTime * packets
        return length < .milliseconds(100) ? .zero : length
    }

    /// What a packet of the far side holds; ours as long as that is not known.
    var farPacketTime: Duration { reception?.statistics.packetTime ?? .milliseconds(packetTime) }

    /// How we hear the source that our report is about.
    func metrics(about ssrc: UInt32) -> VoIPMetrics {
        guard let statistics = reception?.statistics else { preconditionFailure("a report is about what came") }
        let (lost, expected) = (statistics.lostCount, max(statistics.expectedCount, 1))
        let late = statistics.lateCount
        let bursts = statistics.lossBursts
        let time = farPacketTime.milliseconds
        func milliseconds(_ packets: Double) -> UInt16 { UInt16(clamping: Int(packets * time)) }
        func limited(_ duration: Duration) -> UInt16 { UInt16(clamping: Int(duration.milliseconds)) }
        let delay = VoiceQuality.delay(roundTrip: roundTrip, jitter: statistics.jitter)
        let rating = Quality.rating(lost: lost + late, expected: expected, delay: delay, codec: codec.impairment)
        return VoIPMetrics(
            ssrc: ssrc, lossRate: VoIPMetrics.share(Double(lost) / Double(expected)),
            discardRate: VoIPMetrics.share(Double(late) / Double(expected)),
            burstDensity: VoIPMetrics.share(bursts.burstDensity), gapDensity: VoIPMetrics.share(bursts.gapDensity),
            burstDuration: milliseconds(bursts.burstLength), gapDuration: milliseconds(bursts.gapLength),
            roundTrip: roundTrip.map(limited) ?? 0, endSystemDelay: limited(delay - (roundTrip ?? .zero) / 2),
            rating: rating.map { UInt8(clamping: Int($0.rounded())) },
            listeningScore: Quality.score(lost: lost + late, expected: expected, codec: codec.impairment),
            conversationalScore: rating.map(Quality.score(ofRating:)))
    }
}
