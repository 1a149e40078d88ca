// The limits of the whole engine, passed by the calls of all loops.

package import Basics
import Reactor

/// `Admission` with the number of calls that run, behind a lock that is held for a few nanoseconds.
package final class AdmissionGate: Sendable {
    private struct State {
        var admission: Admission
        var active = 0
        /// Who is told when no call is left.
        var waiting: [@Sendable () -> Void] = []

        mutating func takeWaiting() -> [@Sendable () -> Void] {
            defer { waiting = [] }
            return waiting
        }
    }

    private let state: Locked<State>

    package init(limits: Admission.Limits) {
        state = Locked(State(admission: Admission(limits: limits)))
    }

    /// Calls that are not over.
    package var active: Int { state.withLock { $0.active } }

    /// Decides about a call that comes in; an admitted one counts from now on, until `leave`.
    package func admit(from source: IPAddress, at now: Instant) -> Admission.Verdict {
        state.withLock { state in
            let verdict = state.admission.admit(from: source, active: state.active, at: now)
            if verdict == .admitted { state.active += 1 }
            return verdict
        }
    }

    /// Counts a call that goes out; false when the limit of calls is reached.
    package func enter() -> Bool {
        state.withLock { state in
            guard state.active < state.admission.limits.calls else { return false }
            state.active += 1
            return true
        }
    }

    package var limits: Admission.Limits { state.withLock { $0.admission.limits } }

    /// Other limits from now on; calls that are in stay.
    package func change(to limits: Admission.Limits) {
        state.withLock { state in
            guard state.admission.limits != limits else { return }
            let isDraining = state.admission.isDraining
            state.admission = Admission(limits: limits)
            state.admission.isDraining = isDraining
        }
    }

    package func leave() {
        let waiting = state.withLock { state in
            state.active -= 1
            return state.active == 0 ? state.takeWaiting() : []
        }
        for tell in waiting { tell() }
    }

    /// Runs `body` once, as soon as no call is left: at once, or on the loop of the last call.
    package func whenIdle(_ body: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { state in
            if state.active > 0 { state.waiting.append(body) }
            return state.active == 0
        }
        if isIdle { body() }
    }

    /// From now on nothing new comes in.
    package func drain() { state.withLock { $0.admission.isDraining = true } }
}
