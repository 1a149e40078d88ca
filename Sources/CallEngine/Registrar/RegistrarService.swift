// The registrar of an engine: it is asked from every loop where a user is, and answers the REGISTERs of one loop. Its bindings are kept in
// a file by a worker.

package import Basics
import Reactor
package import SIP

/// What people want to read of a registrar.
package enum RegistrarEvent: Equatable, Sendable {
    case changed(BindingChange)
    /// The bindings of the file that still count.
    case loaded(bindings: Int, unreadable: Int)
    case fileFailed(String)
}

/// Figures for metrics.
package struct RegistrarFigures: Equatable, Sendable {
    package var bindings = 0
    /// REGISTERs by the status of their answer.
    package var answers: [Int: UInt64] = [:]

    package init() {}
}

/// From any thread.
package final class RegistrarService: Sendable {
    private struct State {
        var registrar: Registrar
        var answers: [Int: UInt64] = [:]
        /// Something changed since the latest copy for the file.
        var isDirty = false
    }

    private let state: Locked<State>
    private let onEvent: @Sendable (RegistrarEvent) -> Void
    package let realm: String

    package init(_ settings: RegistrarSettings, secret: [UInt8], onEvent: @escaping @Sendable (RegistrarEvent) -> Void) {
        state = Locked(State(registrar: Registrar(settings, secret: secret)))
        realm = settings.realm
        self.onEvent = onEvent
    }

    package var figures: RegistrarFigures {
        state.withLock { state in
            var result = RegistrarFigures()
            result.bindings = state.registrar.table.count
            result.answers = state.answers
            return result
        }
    }

    /// Where a user is reached: the preferred first. Empty: nowhere, or nobody has this name.
    package func devices(of user: String, at now: Instant) -> [Binding] {
        state.withLock { $0.registrar.contacts(of: user, at: now) }
    }

    /// Whom a temporary GRUU with this user part names; nil when it names nobody (any more).
    func device(named name: String, at now: Instant) -> AddressedDevice? {
        state.withLock { $0.registrar.device(named: name, at: now) }.map { AddressedDevice(user: $0.user, gr: $0.gr) }
    }

    /// The answer to a REGISTER: its status, its reason phrase, its rows.
    func answer(_ request: Message, from hop: Hop, at now: Instant) -> Registrar.Answer {
        let answer = state.withLock { state in
            let answer = state.registrar.receive(request, from: hop, at: now)
            state.answers[answer.status, default: 0] += 1
            if !answer.changes.isEmpty { state.isDirty = true }
            return answer
        }
        tell(answer.changes)
        return answer
    }

    /// A connection ended: devices that were reached by it alone are gone.
    func flowEnded(_ hop: Hop) {
        tell(
            state.withLock { state in
                let changes = state.registrar.flowEnded(hop)
                if !changes.isEmpty { state.isDirty = true }
                return changes
            })
    }

    /// Removes what ran out, a part each time.
    func sweep(at now: Instant) {
        tell(state.withLock { $0.registrar.sweep(at: now) })
    }

    // MARK: The file

    /// The bindings and the key of their temporary GRUUs, when they changed since the latest copy.
    func copyIfChanged() -> (table: BindingTable, key: [UInt8])? {
        state.withLock { state in
            guard state.isDirty else { return nil }
            state.isDirty = false
            return (state.registrar.table, state.registrar.gruuKey)
        }
    }

    /// The copy did not reach the file; `why` is told unless it is known.
    func fileFailed(_ why: String?) {
        state.withLock { $0.isDirty = true }
        if let why { onEvent(.fileFailed(why)) }
    }

    func load(_ content: [UInt8], at now: Instant, wall: Double) {
        let found = state.withLock { state -> (bindings: Int, unreadable: Int)? in
            guard
                let (table, key, unreadable) = BindingFile.read(
                    content, at: now, wall: wall, longest: state.registrar.settings.longest)
            else { return nil }
            state.registrar.take(table, key: key)
            return (state.registrar.table.count, unreadable)
        }
        guard let found else { return onEvent(.fileFailed("it is no file of registrations")) }
        onEvent(.loaded(bindings: found.bindings, unreadable: found.unreadable))
    }

    private func tell(_ changes: [BindingChange]) {
        for change in changes { onEvent(.changed(change)) }
    }
}
