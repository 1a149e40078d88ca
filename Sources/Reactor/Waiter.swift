/// One value that one task of a loop waits for. Belongs to a loop; the first result wins, later ones are dropped.
package final class Waiter<Value> {
    private enum State {
        case idle
        case waiting(UnsafeContinuation<Confined<Value?>, Never>)
        /// nil: cancelled.
        case done(Value?)
    }

    @exclusivity(unchecked) private var state = State.idle

    package init() {}

    /// Whether a result is there (or the wait was cancelled).
    package var isDone: Bool {
        if case .done = state { true } else { false }
    }

    package func resume(returning value: Value) { finish(value) }

    private func finish(_ value: Value?) {
        switch state {
        case .idle: state = .done(value)
        case .waiting(let continuation):
            state = .done(value)
            continuation.resume(returning: Confined(value))
        case .done: break
        }
    }

    /// Waits for the result; throws at once when the task is, or becomes, cancelled before it is there.
    package func wait() async throws(CancellationError) -> Value {
        let confined = Confined(self)
        let result: Confined<Value?> = await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Confined<Value?>, Never>) in
                switch state {
                case .idle: state = .waiting(continuation)
                case .done(let value): continuation.resume(returning: Confined(value))
                case .waiting: preconditionFailure("one task waits for a Waiter")
                }
            }
        } onCancel: {
            confined.value.finish(nil)
        }
        guard let value = result.value else { throw CancellationError() }
        return value
    }
}
