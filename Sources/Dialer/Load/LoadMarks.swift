// What an engine had counted when a load run began, so that its end tells what the run did.

package import CallEngine

package struct LoadMarks {
    private let media: MediaCounters
    private let signaling: SignalingCounters
    private let drops: UInt64

    /// Now. Not from one of the engine's loops.
    package init(_ engine: Engine) {
        media = engine.mediaCounters
        signaling = engine.signalingCounters
        drops = engine.droppedHandOvers
    }

    /// Adds what was counted since. Not from one of the engine's loops.
    package func complete(_ report: inout LoadReport, _ engine: Engine) {
        let after = engine.mediaCounters
        report.health.portRefusals = after.ports.refused - media.ports.refused
        report.health.lackedDescriptors = after.ports.lackedDescriptors - media.ports.lackedDescriptors
        report.health.slices = after.clock.slices - media.clock.slices
        report.health.lateSlices = after.clock.lateSlices - media.clock.lateSlices
        report.health.skippedTicks = after.clock.skippedTicks - media.clock.skippedTicks
        report.health.dropped += engine.droppedHandOvers - drops
        report.health.sendFailures =
            Self.ownFailures(engine.signalingCounters) - Self.ownFailures(signaling) + after.droppedOnSending
            - media.droppedOnSending
    }

    /// Messages that this machine did not send; what nobody took at the other end is not its doing.
    private static func ownFailures(_ counters: SignalingCounters) -> UInt64 { counters.sendFailures - counters.refusedDatagrams }
}

extension LoadReport {
    /// Adds what a loop's share came to.
    package mutating func add(_ share: LoadShare) {
        statistics.merge(share.statistics)
        health.add(share)
    }
}

extension GeneratorHealth {
    mutating func add(_ share: LoadShare) {
        lateness.merge(share.lateness)
        lateStarts += share.late
        heldBack += share.heldBack
        turnedAway += share.turnedAway
        misaddressed += share.statistics.misaddressed
    }
}
