// Where a load run happens: the engine, who may end or change the run, and who wants to see it.

import Basics
import Dialer
import FlowEngine
import Reactor

struct LoadStage: Sendable {
    let calling: CallingEngine
    let control: EpollLoop
    let metrics: RunMetrics?
    let stops: StopRequests
    let keys: KeyPresses
    /// Gets a line a second, on the control loop.
    let progress: @Sendable (String) -> Void

    /// Runs a plan to its end.
    /// - Parameter part: this process's among several; nil: it is alone.
    func run(_ plan: LoadPlan, part: LoadPart? = nil, onProgress: @escaping @Sendable (LoadProgress) -> Void = { _ in }) async
        -> LoadReport
    {
        let run = LoadRun(plan, engine: calling.engine, loops: calling.loops, part: part)
        attend(run)
        defer {
            stops.handle(nil)
            keys.handle(nil)
        }
        let (metrics, progress) = (metrics, progress)
        return await run.run(control: control) { shown in
            metrics?.show { $0.add(shown) }
            onProgress(shown)
            progress(Self.line(for: shown, plan))
        }
    }

    private func attend(_ run: LoadRun) {
        let (stops, progress) = (stops, progress)
        stops.handle { count in
            if count == 1 {
                progress("no new calls; waiting for those that run (again: ends them)")
                run.drain()
            } else {
                run.stop()
            }
        }
        keys.handle { key in
            switch key {
            case "+": run.scale(by: 1.1)
            case "-": run.scale(by: 1 / 1.1)
            case "p": run.pause()
            case "d", "q": stops.request()
            default: progress("keys: + faster, - slower, p pause or go on, d drain, d again end")
            }
        }
    }

    private static func line(for progress: LoadProgress, _ plan: LoadPlan) -> String {
        let statistics = progress.statistics
        var line = "\(Int(progress.elapsed.seconds)) s: \(statistics.placed) calls"
        if let planned = plan.plannedCalls { line += " of \(planned)" }
        line +=
            ", \(Int(progress.rate))/s, \(progress.active) active, \(statistics.answered) answered, \(statistics.failed) failed"
        if statistics.answer.count > 0 {
            line += ", answer p99 \(JSONText.number(Double(statistics.answer.quantile(0.99)) / 1000, digits: 1).text) ms"
        }
        let limits = progress.health.limitsHit
        return limits.isEmpty ? line : line + "; this machine: \(limits.map(\.rawValue).joined(separator: ", "))"
    }
}
