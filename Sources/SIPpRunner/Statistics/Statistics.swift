// The statistics of a run.

package import Basics
package import Dialer

/// All that a run counts. It belongs to the run's loop.
package final class Statistics {
    package private(set) var total = Counters()
    package private(set) var period = Counters()
    package var steps: [StepCounters]
    package private(set) var timers: [Timer]
    package private(set) var lengths: Timer
    package private(set) var generic: [(total: Int, period: Int)]
    package private(set) var current = 0
    package private(set) var peak = 0
    package private(set) var peakAt = Instant.zero
    /// Statuses that came unexpectedly since they were last written.
    package var unexpectedCodes: [Int] = []
    package let start: Instant
    package private(set) var periodStart: Instant

    /// Response times of a name, or the lengths of calls.
    package struct Timer {
        package var total = TimeSum()
        package var period = TimeSum()
        package var repartition: Repartition
        /// In microseconds: what SIPp cannot tell, percentiles.
        package var histogram = Histogram()

        init(_ borders: [Int]) { repartition = Repartition(borders) }

        mutating func add(_ duration: Duration) {
            let milliseconds = Int(duration.nanoseconds / 1_000_000)
            total.add(milliseconds)
            period.add(milliseconds)
            repartition.add(milliseconds)
            histogram.record(duration.nanoseconds / 1000)
        }
    }

    package init(_ scenario: Scenario, start: Instant) {
        steps = [StepCounters](repeating: StepCounters(), count: scenario.steps.count)
        timers = scenario.timers.map { _ in Timer(scenario.timerBorders) }
        lengths = Timer(scenario.lengthBorders)
        generic = scenario.counters.map { _ in (0, 0) }
        self.start = start
        periodStart = start
    }

    package var created: Int { total.incoming + total.outgoing }

    package func count(_ counter: WritableKeyPath<Counters, Int>) { change { $0[keyPath: counter] += 1 } }

    /// Without a key path, for what each call counts.
    @inline(__always)
    private func change(_ change: (inout Counters) -> Void) {
        change(&total)
        change(&period)
    }

    package func began(isOutgoing: Bool, at now: Instant) {
        change { if isOutgoing { $0.outgoing += 1 } else { $0.incoming += 1 } }
        current += 1
        if current > peak {
            peak = current
            peakAt = now
        }
    }

    package func ended(isSuccess: Bool, after length: Duration) {
        change { if isSuccess { $0.successful += 1 } else { $0.failed += 1 } }
        current -= 1
        lengths.add(length)
    }

    package func failed(_ cause: FailureCause) { change { $0.causes[cause.rawValue] += 1 } }

    package func responded(_ timer: Int, after time: Duration) { timers[timer].add(time) }

    package func counted(_ counter: Int) {
        generic[counter].total += 1
        generic[counter].period += 1
    }

    /// A new period begins.
    package func reset(at now: Instant, clearsTimers: Bool) {
        period = Counters()
        periodStart = now
        lengths.period = TimeSum()
        for index in timers.indices {
            timers[index].period = TimeSum()
            if clearsTimers { timers[index].repartition.reset() }
        }
        if clearsTimers { lengths.repartition.reset() }
        for index in generic.indices { generic[index].period = 0 }
    }
}
