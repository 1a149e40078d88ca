import CLinux

/// A system call that failed: which, on what, and why.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `errno`.
    package let number: Int32
    /// The call and what it was about: `bind 0.0.0.0:5060`.
    package let call: String

    package init(_ number: Int32, _ call: String) {
        self.number = number
        self.call = call
    }

    /// `bind 0.0.0.0:5060: Address already in use`
    package var description: String { "\(call): \(reason)" }

    /// The system's words for `number`: `Address already in use`.
    package var reason: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) {
            rw_error_text(number, $0.baseAddress!, 128)
            return String(cString: $0.baseAddress!)
        }
    }

    package static func == (left: SystemError, right: Int32) -> Bool { left.number == right }
}

/// The funnel for system calls: an interrupted call is repeated, "not now" is a value, and a fault of ours (a closed descriptor, a
/// wild pointer) traps.
enum SystemCall {
    enum Outcome {
        /// What the call returned, never negative.
        case done(Int)
        /// EAGAIN: nothing to read, or no room to write.
        case notNow
        /// `errno`
        case failed(Int32)
    }

    @inline(__always)
    static func attempt<Number: SignedInteger>(_ call: () -> Number) -> Outcome {
        while true {
            let result = call()
            if result >= 0 { return .done(Int(result)) }
            let number = rw_errno()
            switch number {
            case EINTR: continue
            case EAGAIN: return .notNow
            case EBADF, EFAULT, ENOTSOCK: preconditionFailure("a system call on a bad descriptor or pointer (errno \(number))")
            default: return .failed(number)
            }
        }
    }

    /// A call that must work now; `what` is made only when it does not.
    @discardableResult
    static func check<Number: SignedInteger>(
        _ what: @autoclosure () -> String, _ call: () -> Number
    ) throws(SystemError) -> Int32 {
        switch attempt(call) {
        case .done(let result): return Int32(truncatingIfNeeded: result)
        case .notNow: throw SystemError(EAGAIN, what())
        case .failed(let number): throw SystemError(number, what())
        }
    }

    /// Closes a descriptor. It is gone whatever close(2) says.
    static func close(_ descriptor: Int32) {
        if CLinux.close(descriptor) < 0 { precondition(rw_errno() != EBADF, "a descriptor is closed once") }
    }

    static func monotonicNanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    static func setOption(
        _ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32, _ name: String
    ) throws(SystemError) {
        var value = value
        try check("setsockopt \(name)") {
            setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}
