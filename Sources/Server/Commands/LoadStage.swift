// Where a load run happens: the engine, who may end or change the run, and who wants to see it.

import Basics
import Dialer
import FlowEngine
import Reactor

struct LoadStage: Sendable {
    let calling: CallingEngine
    let control: EpollLoop
    let metrics: RunMetrics?
    /// The other end of the calls, when it is this process as well.
    let farEnd: RunningServer?
    let stops: StopRequests
    let keys: KeyPresses
    /// Where it is watched as a whole; nil: as lines.
    let screen: LoadScreen?
    /// Gets a line a second, on the control loop, unless there is a screen.
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
        let (metrics, progress, screen) = (metrics, progress, screen)
        screen?.begin(plan)
        farEnd?.countAnew()
        var report = await run.run(control: control) { shown in
            metrics?.show { $0.add(shown) }
            onProgress(shown)
            if let screen { screen.show(shown) } else { progress(Self.line(for: shown, plan)) }
        }
        if let far = farEnd?.conclude() { report.farEnd = [far] }
        return report
    }

    private func attend(_ run: LoadRun) {
        let (stops, progress, screen) = (stops, progress, screen)
        stops.handle { count in
            if count == 1 {
                screen?.set(.draining)
                progress("no new calls; waiting for those that run (again: ends them)")
                run.drain()
            } else {
                screen?.set(.ending)
                run.stop()
            }
        }
        let scale = { @Sendable (factor: Double) in
            screen?.scale(by: factor)
            run.scale(by: factor)
        }
        keys.handle { key in
            switch key {
            case "+": scale(1.1)
            case "-": scale(1 / 1.1)
            case "p":
                screen?.pause()
                run.pause()
            case "d": stops.request()
            case "q": stops.request(atOnce: true)
            default: progress(Self.keyWords)
            }
        }
    }

    private static let keyWords = "keys: + faster, - slower, p pause or go on, d drain, d again end, q quit"

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
