// What a run tells while it lasts, and its watchdog: a generator that comes late does not measure the far end.

import Basics
import Reactor

extension ScenarioRun {
    /// Writes a row of statistics and begins a new period.
    func writeStatistics() {
        files.writeStatistics(self)
        statistics.reset(at: loop.now, clearsTimers: options.periodicTimers)
    }

    func showProgress() {
        guard let onProgress else { return }
        let total = statistics.total
        onProgress(
            "\(DateText.elapsed(loop.now - beganAt))  \(statistics.created) calls, \(statistics.current) open, \(total.successful) well, \(total.failed) failed, \(total.retransmissions) retransmissions"
        )
    }

    func startWatchdog() {
        var last = loop.now
        var since = loop.now
        every(.microseconds(Int64(options.watchdogInterval * 1000))) { run in
            let now = run.loop.now
            let late = (now - last).milliseconds
            last = now
            if (now - since).milliseconds > run.options.watchdogReset {
                since = now
                (run.watchdogMajorTrips, run.watchdogMinorTrips) = (0, 0)
            }
            if late > run.options.watchdogMajor {
                run.watchdogMajorTrips += 1
                run.statistics.count(\.watchdogMajor)
            } else if late > run.options.watchdogMinor {
                run.watchdogMinorTrips += 1
                run.statistics.count(\.watchdogMinor)
            }
            if run.watchdogMajorTrips > run.options.watchdogMajorMost || run.watchdogMinorTrips > run.options.watchdogMinorMost {
                run.fatal("Overload warning: the watchdog timer has been late too often; this machine cannot keep up")
            }
        }
    }
}
