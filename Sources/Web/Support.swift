// What the web and the fetch thread share: a thread and the box in which a loop's closure crosses.
import CLinux
import Glibc
import Reactor

/// Something that belongs to a loop, on its way there through another thread.
/// `@unchecked Sendable`: it is made on the loop and touched there again only; the other thread merely holds it.
final class LoopBound<Value>: @unchecked Sendable {
    private let value: Value
    private let loop: EventLoop

    init(_ value: Value, on loop: EventLoop) {
        self.value = value
        self.loop = loop
    }

    /// Runs `body` with the value on its loop, soon. From any thread; the box itself rides along, so that the value's last
    /// reference is dropped there when the sender has dropped its own.
    func execute(_ body: @escaping @Sendable (Value) -> Void) {
        loop.execute { body(self.value) }
    }
}

/// A thread of the operating system that runs one function.
/// `@unchecked Sendable`: `join` is called once, by the owner.
final class SystemThread: @unchecked Sendable {
    private var handle = pthread_t()

    private final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// `name` has at most 15 bytes. Signals stay with the main thread.
    init(name: String, _ body: @escaping @Sendable () -> Void) {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, &before)
        let status = pthread_create(
            &handle, nil,
            { argument in
                let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
                rw_thread_name(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        pthread_sigmask(SIG_SETMASK, &before, nil)
        precondition(status == 0, "no thread: \(String(cString: strerror(status)))")
    }

    /// Waits for the thread's end; it must not be the caller.
    func join() { pthread_join(handle, nil) }
    func detach() { pthread_detach(handle) }
    var isCurrent: Bool { pthread_equal(handle, pthread_self()) != 0 }
}

/// The monotonic clock in microseconds.
func monotonicMicroseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
}
