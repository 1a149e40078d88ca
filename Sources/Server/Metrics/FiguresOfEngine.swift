// Gathers the figures of a running engine.

package import CallEngine
package import Reactor

extension ServerFigures {
    /// Asks every loop and waits. From a thread that is none of these loops, and on which none of them waits: the control loop is one.
    package init(
        version: String, startedAt: Double, engine: Engine, loops: [EpollLoop], isDraining: Bool, lostPackets: Int64? = nil
    ) {
        self.init(version: version, startedAt: startedAt)
        activeCalls = engine.gate.active
        callLimit = engine.gate.limits.calls
        self.isDraining = isDraining
        let calls = engine.callCounters
        started = [.inbound: calls.incoming, .outbound: calls.outgoing]
        answered = calls.answered
        ended = calls.ended
        refused = calls.refused
        unacceptable = calls.unacceptable
        signaling = engine.signalingCounters
        media = engine.mediaCounters
        self.lostPackets = lostPackets
        trace = engine.tracing?.counters ?? TraceCounters()
        lines = engine.lines.statuses
        registrar = engine.registrar?.figures
        self.loops = loops.map { loop in
            let (metrics, tasks) = loop.runAndWait { (loop.metrics, loop.liveTasks) }
            return Loop(
                name: loop.name, busy: Double(metrics.busy) / 1e9, turns: metrics.turns, pacedTurns: metrics.pacedTurns,
                lateTimers: Double(metrics.lateness.quantile(0.99)) / 1e9, tasks: tasks)
        }
    }
}
