// How a thread that is no loop waits for what happens on another one.

import Basics
import CLinux

/// A value that one thread waits for and another sets.
///
/// `@unchecked Sendable`: guarded by the mutex.
package final class Outcome<Value: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value?

    package init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        pthread_cond_destroy(condition)
        mutex.deallocate()
        condition.deallocate()
    }

    /// Sets it; a later value replaces an earlier one that nobody has waited for.
    package func set(_ value: Value) {
        pthread_mutex_lock(mutex)
        self.value = value
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Waits for it. Not on a loop.
    package func wait() -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while value == nil { pthread_cond_wait(condition, mutex) }
        return value!
    }

    /// Waits for it as long as `limit`; nil when it was not set by then. Not on a loop.
    package func wait(within limit: Duration) -> Value? {
        let end = SystemCall.monotonicNanoseconds() + limit.nanoseconds
        var deadline = timespec(tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while value == nil, pthread_cond_timedwait(condition, mutex, &deadline) == 0 {}
        return value
    }
}
