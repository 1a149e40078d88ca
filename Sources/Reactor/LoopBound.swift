import CLinux

/// A reference to an object of a loop that may go to other threads: they reach the object only by running something on its loop.
///
/// `@unchecked Sendable`: the value is touched on its loop only.
package final class LoopBound<Value>: @unchecked Sendable {
    package let loop: EventLoop
    private let value: Value

    /// On the loop only.
    package init(_ value: Value, on loop: EventLoop) {
        loop.preconditionOnLoop()
        self.value = value
        self.loop = loop
    }

    /// The object itself, for who is on the loop.
    package var onLoop: Value {
        loop.preconditionOnLoop()
        return value
    }

    /// Runs `body` on the loop, soon; at once when the caller is on the loop.
    package func run(_ body: @escaping @Sendable (Value) -> Void) {
        if loop.isCurrent { body(value) } else { loop.execute { body(self.value) } }
    }

    /// Runs `body` on the loop and waits for it: for starting and ending, and for pages of figures. Never from another loop.
    package func runAndWait<Result: Sendable, Failure: Error>(
        _ body: @escaping @Sendable (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try loop.runAndWait { () throws(Failure) -> Result in try body(self.value) }
    }
}

extension EventLoop {
    /// Runs `body` on the loop and blocks the calling thread until it is done; directly when that is the loop's. Never from another
    /// loop: two that wait for each other would wait for ever.
    package final func runAndWait<Result: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if isCurrent { return try body() }
        let outcome = Outcome<Swift.Result<Result, Failure>>()
        execute {
            do throws(Failure) {
                outcome.set(.success(try body()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        return try outcome.wait().get()
    }
}
