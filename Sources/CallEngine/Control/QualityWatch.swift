// What is told of a call's quality while it runs: figures every few seconds, and what a person would want to know at once. A value: it
// gets the report of a moment and compares it with the one before.

import Basics

/// What became of the time since the figures before.
package struct QualityFigures: Equatable, Sendable {
    /// Packets of the far side that came, those that did not, and those that came too late to be heard.
    package var received: UInt64
    package var lost: UInt64
    package var late: UInt64
    /// Interarrival jitter at this moment (RFC 3550 section 6.4.1).
    package var jitter: Duration
    package var roundTrip: Duration?
    /// The mean opinion score of this time, 1 to 4.5; nil when nothing came.
    package var score: Double?
    /// What the far side told last about our stream, since its beginning.
    package var remote: RemoteReception?

    package init(
        received: UInt64, lost: UInt64, late: UInt64, jitter: Duration, roundTrip: Duration?, score: Double?,
        remote: RemoteReception?
    ) {
        (self.received, self.lost, self.late) = (received, lost, late)
        (self.jitter, self.roundTrip, self.score, self.remote) = (jitter, roundTrip, score, remote)
    }

    /// Packets that did not come, of a hundred.
    package var lossPercent: Double { received + lost == 0 ? 0 : 100 * Double(lost) / Double(received + lost) }
}

package enum QualityEvent: Equatable, Sendable {
    /// Every few seconds, with the reports of RTCP, while packets go or come.
    case measured(QualityFigures)
    /// Audio passes one way only from now on, or (nil) both ways again.
    case oneWay(OneWayAudio?)
    /// So much of the far side's beginning was not heard. Once, and only when it is 100 ms or more.
    case clippedStart(Duration)
}

package struct QualityWatch: Sendable {
    private var before = MediaReport()
    private var toldClippedStart = false

    package init() {}

    /// What there is to tell.
    /// - Parameter codec: as `CallInfo.codec`.
    package mutating func look(at report: MediaReport, codec: String) -> [QualityEvent] {
        var events: [QualityEvent] = []
        if report.oneWay != before.oneWay { events.append(.oneWay(report.oneWay)) }
        if !toldClippedStart, let clipped = report.clippedStart, clipped > .zero {
            toldClippedStart = true
            events.append(.clippedStart(clipped))
        }
        if report.sent != before.sent || report.received != before.received {
            // What was missing may have come late: then it counts for the time before.
            var part = report
            part.received = report.received - min(before.received, report.received)
            part.lost = max(0, report.lost - max(0, before.lost))
            part.late = report.late - min(before.late, report.late)
            events.append(
                .measured(
                    QualityFigures(
                        received: part.received, lost: UInt64(part.lost), late: part.late, jitter: report.jitter,
                        roundTrip: report.roundTrip, score: VoiceQuality.meanOpinionScore(of: part, codec: codec),
                        remote: report.remote)))
        }
        before = report
        return events
    }
}

/// Who hears of a call's quality. Belongs to the call's loop.
final class QualityListener {
    let tell: (QualityEvent) -> Void
    private var watch = QualityWatch()

    init(_ tell: @escaping (QualityEvent) -> Void) { self.tell = tell }

    func look(at report: MediaReport, codec: String) {
        for event in watch.look(at: report, codec: codec) { tell(event) }
    }
}
