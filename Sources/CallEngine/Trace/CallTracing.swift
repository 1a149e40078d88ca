// Tracing of calls: which are traced, the thread that writes, and what is counted. For all loops.

package import Reactor

/// Chooses the calls that are traced and writes them. `TraceFiles` tells what is written.
package final class CallTracing: Sendable {
    private let writer: WorkerPool
    private let onEvent: @Sendable (TraceEvent) -> Void
    private let state: Locked<State>

    private struct State {
        var settings: TraceSettings?
        var counters = TraceCounters()
        /// Calls that were selected.
        var selected: UInt64 = 0
        var isStopped = false
        /// Why the oldest folders do not go: told once.
        var roomFailure: String?
    }

    /// With a thread of its own, which begins at once.
    /// - Parameters:
    ///   - settings: nil: nothing is traced yet.
    ///   - onEvent: hears what became of each call's trace, once, on the writer's thread.
    package convenience init(
        _ settings: TraceSettings?, onEvent: @escaping @Sendable (TraceEvent) -> Void = { _ in }
    ) throws(SystemError) {
        // A piece of work has 32 KiB at most, so what waits is bounded by 16 MiB.
        self.init(settings, writer: try WorkerPool(name: "traces", threads: 1, limit: 512), onEvent: onEvent)
    }

    /// `writer`: one thread, or none for virtual loops.
    package init(
        _ settings: TraceSettings?, writer: WorkerPool, onEvent: @escaping @Sendable (TraceEvent) -> Void = { _ in }
    ) {
        self.writer = writer
        self.onEvent = onEvent
        state = Locked(State(settings: settings))
    }

    /// What calls get that begin from now on; nil: they are not traced. Shards are told by `Engine.trace(with:)`.
    package var settings: TraceSettings? { state.withLock { $0.settings } }
    func change(to settings: TraceSettings?) { state.withLock { $0.settings = settings } }

    package var counters: TraceCounters { state.withLock { $0.counters } }
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Writes what waits and ends the thread. After the engine's `close`. Once.
    package func stop() {
        state.withLock { $0.isStopped = true }
        writer.stop()
    }

    /// The trace of a call that begins; nil when it is not to be traced.
    func begin(_ call: TracedCall, _ settings: TraceSettings, on loop: EventLoop) -> CallTrace? {
        guard settings.selects(call) else { return nil }
        let isTraced = state.withLock { state -> Bool in
            defer { state.selected += 1 }
            guard state.selected % UInt64(settings.sample) == 0 else { return false }
            guard state.counters.active < settings.calls else {
                state.counters.refusedCalls += 1
                return false
            }
            state.counters.active += 1
            state.counters.calls += 1
            return true
        }
        return isTraced ? CallTrace(call, settings: settings, tracing: self, loop: loop) : nil
    }

    /// False when the writer cannot take it.
    func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
        do throws(WorkRefused) {
            try writer.submit(work)
            return true
        } catch {
            return false
        }
    }

    func countDropped(_ count: Int) { state.withLock { $0.counters.dropped += UInt64(count) } }

    /// What became of a piece of work.
    func report(_ outcome: TraceFiles.Outcome) {
        guard outcome.omitted > 0 || outcome.failure != nil else { return }
        state.withLock {
            $0.counters.omitted += UInt64(outcome.omitted)
            if outcome.failure != nil { $0.counters.failures += 1 }
        }
        if let failure = outcome.failure { onEvent(failure) }
    }

    /// The files of a call are closed: the oldest folders make room. On the writer's thread.
    func ended(_ settings: TraceSettings, _ event: TraceEvent?) {
        state.withLock { $0.counters.active -= 1 }
        if let event { onEvent(event) }
        do throws(SystemError) {
            try TraceFiles.makeRoom(in: settings)
            state.withLock { $0.roomFailure = nil }
        } catch {
            let reason = "\(error)"
            let isNew = state.withLock { state in
                defer { state.roomFailure = reason }
                return state.roomFailure != reason
            }
            if isNew, event != nil { onEvent(.noRoom(folder: settings.folder, reason: reason)) }
        }
    }
}
