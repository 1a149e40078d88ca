// Lines that calls are awaited by: a command that needs them begins when they are registered.

import CallEngine
import Reactor

/// From any thread.
final class RegisteredLines: Sendable {
    private struct State {
        var missing: Set<String>
        /// One is refused: nobody has to wait for it.
        var hasFailed = false
    }

    private let wanted: Set<String>
    private let state: Locked<State>
    private let isOver = Outcome<Void>()
    private let onChange: @Sendable (_ areAll: Bool) -> Void
    private static let patience = Duration.seconds(10)

    /// - Parameters:
    ///   - wanted: by their names; others are none of its business.
    ///   - onChange: hears whether all are registered now, from any loop.
    init(_ wanted: Set<String>, onChange: @escaping @Sendable (_ areAll: Bool) -> Void = { _ in }) {
        self.wanted = wanted
        self.onChange = onChange
        state = Locked(State(missing: wanted))
    }

    var areAll: Bool { state.withLock { $0.missing.isEmpty } }

    func heard(_ event: LineEvent) {
        guard wanted.contains(event.line) else { return }
        let (before, after, hasFailed) = state.withLock { state in
            let before = state.missing.isEmpty
            switch event {
            case .registered(let line, _, _): state.missing.remove(line)
            case .expired(let line), .ended(let line): state.missing.insert(line)
            // A refresh that is refused is tried again; the binding stands until it runs out.
            case .failed: state.hasFailed = true
            case .available, .unavailable: break
            }
            return (before, state.missing.isEmpty, state.hasFailed)
        }
        if after || hasFailed { isOver.set(()) }
        if before != after { onChange(after) }
    }

    /// Waits until all are registered, or one is refused; why they are not. Not on a loop.
    /// - Parameter purpose: what they are for.
    func wait(_ engine: Engine, _ purpose: String) -> CommandFailure? {
        if !areAll { _ = isOver.wait(within: Self.patience) }
        guard let line = state.withLock({ $0.missing }).sorted().first else { return nil }
        let why = engine.lines.statuses.first { $0.name == line }?.detail ?? ""
        return CommandFailure(
            .failed, "the line \(line), by which \(purpose), is not registered: \(why.isEmpty ? "no answer" : why)",
            mend: "ringwright doctor looks at lines")
    }
}
