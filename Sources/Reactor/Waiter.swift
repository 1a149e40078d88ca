/// One value that one task of a loop waits for. Belongs to a loop; the first result wins, later ones are dropped.
///
/// Public, because the compiler makes code of its own for each kind of value only from public declarations of another module; generic
/// code looks the kind up at run time, several times a wait.
public final class Waiter<Value> {
    @usableFromInline
    enum State {
        case idle
        case waiting(UnsafeContinuation<Void, Never>)
        /// nil: cancelled.
        case done(Value?)
    }

    @exclusivity(unchecked) @usableFromInline var state = State.idle

    /// A wait without a result.
    @inlinable
    public init() {}

    /// Whether a result is there (or the wait was cancelled).
    @inlinable public var isDone: Bool {
        if case .done = state { true } else { false }
    }

    /// Gives the result.
    @inlinable
    public func resume(returning value: Value) { finish(value) }

    @inlinable
    func finish(_ value: Value?) {
        switch state {
        case .idle: state = .done(value)
        case .waiting(let continuation):
            state = .done(value)
            continuation.resume()
        case .done: break
        }
    }

    /// Waits for the result; throws at once when the task is, or becomes, cancelled before it is there.
    @inlinable
    public func wait() async throws(CancellationError) -> Value {
        let confined = Confined(self)
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                switch state {
                case .idle: state = .waiting(continuation)
                case .done: continuation.resume()
                case .waiting: preconditionFailure("one task waits for a Waiter")
                }
            }
        } onCancel: {
            confined.value.finish(nil)
        }
        guard case .done(let value?) = state else { throw CancellationError() }
        return value
    }
}
