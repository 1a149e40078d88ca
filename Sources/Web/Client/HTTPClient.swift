// The HTTP client: the fetch thread with libcurl's multi interface.
import Basics
import CCurl
import Glibc
package import Reactor

/// The limits of the HTTP client.
package struct HTTPClientLimits: Sendable {
    /// Transfers at once.
    package var inFlight = 64
    /// To one host (name and port) at once.
    package var perHost = 16
    /// Calls that wait for a place. Beyond: `overloaded`.
    package var queue = 1024
    /// Idle connections that are kept for the next call.
    package var idleConnections = 32

    package init() {}
}

/// What the client counted.
package struct HTTPClientCounters: Sendable, Hashable {
    package var started: UInt64 = 0
    package var succeeded: UInt64 = 0
    package var failed: UInt64 = 0
    package var overloaded: UInt64 = 0
    package var inFlight = 0
    package var waiting = 0
}

/// Fetches over HTTP/1.1 and HTTP/2 on a thread of its own; connections are kept and used again.
///
/// `@unchecked Sendable`: what may be called from any thread is behind a lock; the rest is the thread's own.
package final class HTTPClient: @unchecked Sendable {
    private enum Command {
        case start(CurlTransfer)
        case cancel(UInt64)
        case stop
    }

    private struct Mailbox {
        var commands: [Command] = []
        var nextID: UInt64 = 0
        /// Started and not finished, waiting ones included.
        var open = 0
        var isOver = false
        var counters = HTTPClientCounters()
    }

    private let limits: HTTPClientLimits
    private let mailbox = Locked(Mailbox())
    private let multi: OpaquePointer
    private var thread: SystemThread?

    // The thread's own.
    private var running: [UInt64: CurlTransfer] = [:]
    private var byHandle: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private var waiting: [CurlTransfer] = []
    private var isOver = false

    private static let libraryIsReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    package init(limits: HTTPClientLimits = HTTPClientLimits()) {
        self.limits = limits
        precondition(Self.libraryIsReady, "libcurl does not start")
        guard let multi = curl_multi_init() else { preconditionFailure("out of memory") }
        self.multi = OpaquePointer(multi)
        rw_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, limits.perHost)
        rw_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, limits.idleConnections)
        thread = SystemThread(name: "fetch") { self.run() }
    }

    package var counters: HTTPClientCounters { mailbox.withLock { $0.counters } }

    /// Fetches. On `loop` only, where the result comes too. Cancelling the task aborts the transfer.
    package func fetch(_ call: HTTPCall, on loop: EventLoop) async -> Result<HTTPReply, HTTPFailure> {
        loop.preconditionOnLoop()
        let waiter = Waiter<Result<HTTPReply, HTTPFailure>>()
        let box = LoopBound(waiter, on: loop)
        let id = start(call) { result in box.execute { $0.resume(returning: result) } }
        do {
            return try await waiter.wait()
        } catch {
            cancel(id)
            return .failure(HTTPFailure(.cancelled, call.url, "cancelled"))
        }
    }

    /// Starts a call; `then` runs once, on the fetch thread or, when the call is refused, at once. From any thread.
    @discardableResult
    package func start(_ call: HTTPCall, then: @escaping @Sendable (Result<HTTPReply, HTTPFailure>) -> Void) -> UInt64 {
        let limits = limits
        let (id, refusal) = mailbox.withLock { mailbox -> (UInt64, HTTPFailure?) in
            mailbox.nextID += 1
            if mailbox.isOver { return (mailbox.nextID, HTTPFailure(.stopped, call.url, "the client is stopped")) }
            guard mailbox.open < limits.inFlight + limits.queue else {
                mailbox.counters.overloaded += 1
                return (mailbox.nextID, HTTPFailure(.overloaded, call.url, "too many requests are waiting"))
            }
            mailbox.open += 1
            mailbox.counters.started += 1
            mailbox.commands.append(.start(CurlTransfer(id: mailbox.nextID, call: call, then: then)))
            wake()
            return (mailbox.nextID, nil)
        }
        if let refusal { then(.failure(refusal)) }
        return id
    }

    /// Aborts a call; one that is over is not touched. From any thread.
    package func cancel(_ id: UInt64) { post(.cancel(id)) }

    /// Aborts what runs, with `stopped`, and waits for the thread's end. Not from the fetch thread.
    package func stopAndWait() {
        post(.stop)
        let thread = mailbox.withLock { _ in
            defer { self.thread = nil }
            return self.thread
        }
        thread?.join()
    }

    private func post(_ command: Command) {
        mailbox.withLock { mailbox in
            guard !mailbox.isOver else { return }
            mailbox.commands.append(command)
            wake()
        }
    }

    private func wake() { curl_multi_wakeup(multiHandle) }
    private var multiHandle: UnsafeMutableRawPointer { UnsafeMutableRawPointer(multi) }

    // MARK: The thread

    private func run() {
        while !isOver {
            perform()
            var count: Int32 = 0
            curl_multi_perform(multiHandle, &count)
            collect()
            admit()
            guard !isOver else { break }
            curl_multi_poll(multiHandle, nil, 0, pollMilliseconds(), nil)
            expire()
        }
        let rest = mailbox.withLock { mailbox in
            mailbox.isOver = true
            defer { mailbox.commands = [] }
            return mailbox.commands
        }
        for case .start(let transfer) in rest { waiting.append(transfer) }
        for transfer in Array(running.values) + waiting {
            finish(transfer, .failure(HTTPFailure(.stopped, transfer.call.url, "the client is stopped")))
        }
        curl_multi_cleanup(multiHandle)
    }

    private func perform() {
        let commands = mailbox.withLock { mailbox in
            defer { mailbox.commands.removeAll(keepingCapacity: true) }
            return mailbox.commands
        }
        for command in commands {
            switch command {
            case .start(let transfer): waiting.append(transfer)
            case .cancel(let id):
                guard let transfer = running[id] ?? waiting.first(where: { $0.id == id }) else { continue }
                finish(transfer, .failure(HTTPFailure(.cancelled, transfer.call.url, "cancelled")))
            case .stop: isOver = true
            }
        }
        admit()
    }

    private func admit() {
        while !isOver, running.count < limits.inFlight, !waiting.isEmpty {
            let transfer = waiting.removeFirst()
            let started = transfer.begin().flatMap { easy -> Result<Void, HTTPFailure> in
                guard curl_multi_add_handle(multiHandle, easy) == CURLM_OK else {
                    return .failure(HTTPFailure(.broken, transfer.call.url, "out of memory"))
                }
                running[transfer.id] = transfer
                byHandle[easy] = transfer
                return .success(())
            }
            if case .failure(let failure) = started { finish(transfer, .failure(failure)) }
        }
        mailbox.withLock {
            $0.counters.inFlight = running.count
            $0.counters.waiting = waiting.count
        }
    }

    private func collect() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multiHandle, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle, let transfer = byHandle[easy]
            else { continue }
            finish(transfer, transfer.result(rw_curl_message_result(message)))
        }
    }

    /// Those that waited too long for a place.
    private func expire() {
        guard !waiting.isEmpty else { return }
        let now = monotonicMicroseconds()
        for transfer in waiting where transfer.deadline <= now {
            finish(transfer, .failure(HTTPFailure(.timeout, transfer.call.url, "no place within the time")))
        }
    }

    private func pollMilliseconds() -> Int32 {
        guard let next = waiting.lazy.map(\.deadline).min() else { return 60_000 }
        return Int32(clamping: max(0, (next - monotonicMicroseconds()) / 1000 + 1))
    }

    private func finish(_ transfer: CurlTransfer, _ result: Result<HTTPReply, HTTPFailure>) {
        if let easy = transfer.easy {
            byHandle[easy] = nil
            if running.removeValue(forKey: transfer.id) != nil { curl_multi_remove_handle(multiHandle, easy) }
        } else {
            waiting.removeAll { $0 === transfer }
        }
        transfer.release()
        mailbox.withLock { mailbox in
            mailbox.open -= 1
            if case .success = result { mailbox.counters.succeeded += 1 } else { mailbox.counters.failed += 1 }
            mailbox.counters.inFlight = running.count
            mailbox.counters.waiting = waiting.count
        }
        transfer.then(result)
    }
}
