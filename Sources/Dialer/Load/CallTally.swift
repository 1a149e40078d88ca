// What the calls of one loop come to, whoever placed them: those of a load run, and those that come to its far end.

import Basics
import CallEngine
import FlowEngine
import Reactor

/// Belongs to its shard's loop.
package final class CallTally {
    package private(set) var statistics = LoadStatistics()
    /// The same instant for all loops.
    var start: Instant
    /// BYEs of ours that wait for their answer.
    private(set) var byes = 0
    /// One of them was answered, or given up.
    var onBye: (() -> Void)?
    private let shard: CallShard
    /// Requests that had been sent again at the last look.
    private var retransmissions: Int

    init(_ shard: CallShard, start: Instant) {
        self.shard = shard
        self.start = start
        retransmissions = shard.endpoint.retransmissions
        shard.onBye = { [weak self] call, duration in self?.byeEnded(call, duration) }
    }

    /// - Parameter active: calls at a time of the whole engine.
    func began(active: Int) { statistics.started(at: shard.loop.now, since: start, active: active) }

    func ended(_ outcome: LoadOutcome) { statistics.ended(outcome, at: shard.loop.now, since: start) }

    /// So many calls that were over before they could be any.
    func refused(_ failure: LoadOutcome.Failure, count: Int) {
        statistics.refused(failure, count: count, at: shard.loop.now, since: start)
    }

    /// The call is over: a BYE of ours follows the end of an answered one that the far side did not end itself.
    func noteEnd(of call: Call, _ end: CallEnd) {
        let farSide: CallEnd.Party = call.direction == .outbound ? .callee : .caller
        if call.answeredAt != nil, end.by != farSide { byes += 1 }
    }

    private func byeEnded(_ call: Call, _ duration: Duration?) {
        byes = max(0, byes - 1)
        if let duration {
            statistics.byeAnswered(after: duration, at: shard.loop.now, since: start)
        } else if !call.isCountedAsFailed {
            call.isCountedAsFailed = true
            statistics.failedLater(.cause("bye-timeout"), at: shard.loop.now, since: start)
        }
        onBye?()
    }

    /// What was sent again since the last look, half of the time ago on average.
    func look(every interval: Duration = .zero) {
        let count = shard.endpoint.retransmissions
        statistics.sentAgain(count - retransmissions, at: max(start, shard.loop.now - interval / 2), since: start)
        retransmissions = count
    }

    /// Hears of no more BYEs.
    func stop() { shard.onBye = nil }
}

extension LoadOutcome {
    /// What a call came to that is over.
    /// - Parameter flow: what its flow came to; nil: it had none.
    init(
        of call: Call, _ end: CallEnd, _ flow: FlowOutcome?, score: (MediaReport, String) -> Double?
    ) {
        let media = call.mediaReport
        self.init(
            failure: Self.failure(call, end, flow), wasAnswered: call.answeredAt != nil, timings: call.times, media: media,
            score: media.received > 0 ? score(media, call.finalCodec) : nil)
        isMisaddressed = isOneWay && call.seenAddress != nil
        if failure != nil { call.isCountedAsFailed = true }
    }

    private static func failure(_ call: Call, _ end: CallEnd, _ flow: FlowOutcome?) -> Failure? {
        let wasAnswered = call.answeredAt != nil
        if let flow {
            // A flow that refuses a call has done what it was to do, and the call is refused all the same.
            let isWell = call.direction == .outbound || (wasAnswered && end.cause == .normal)
            if flow.result == .passed, isWell { return nil }
            if flow.expectations.contains(where: { !$0.passed }) { return .cause("expectation") }
        } else if wasAnswered, end.cause == .normal {
            return nil
        }
        if !wasAnswered, end.by == .callee, call.finalStatus >= 300 { return .status(call.finalStatus) }
        return .cause(end.cause.rawValue)
    }
}

/// What a loop's share of a run came to.
package struct LoadShare: Sendable {
    package var statistics: LoadStatistics
    /// How late calls began, or timers ran; microseconds.
    package var lateness: Histogram
    /// Those later than `Pacer.tolerance`.
    package var late: UInt64
    package var heldBack: UInt64 = 0
    /// Calls that limits of this side refused.
    package var turnedAway: UInt64 = 0
}
