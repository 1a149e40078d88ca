package import Basics

/// Events in the order of their arrival, for one task of a loop that takes them one by one.
/// It belongs to a loop. It is for events that are bounded by their nature (keys pressed, ends of things started).
package final class Mailbox<Event> {
    private let loop: EventLoop
    private var events: [Event] = []
    private var waiter: Waiter<Void>?

    package init(loop: EventLoop) {
        self.loop = loop
    }

    package func send(_ event: Event) {
        events.append(event)
        waiter?.resume(returning: ())
    }

    /// The next event, or nil when none came before `deadline`. Throws at once when the task is cancelled.
    package func next(until deadline: Instant = .never) async throws(CancellationError) -> Event? {
        if events.isEmpty {
            let arrival = Waiter<Void>()
            waiter = arrival
            let timer = deadline == .never ? nil : loop.schedule(at: deadline) { arrival.resume(returning: ()) }
            defer {
                timer?.cancel()
                waiter = nil
            }
            try await arrival.wait()
        }
        return events.isEmpty ? nil : events.removeFirst()
    }
}
