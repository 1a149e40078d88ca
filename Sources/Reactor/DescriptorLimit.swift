import CLinux

/// How many descriptors the process may have (RLIMIT_NOFILE): a call with media of its own needs at least one.
package struct DescriptorLimit: Equatable, Sendable {
    /// What holds now, and what the process may raise it to by itself.
    package let current: UInt
    package let maximum: UInt

    package static func read() throws(SystemError) -> DescriptorLimit {
        var current: UInt = 0
        var maximum: UInt = 0
        try SystemCall.check("getrlimit") { rw_descriptor_limit(&current, &maximum) }
        return DescriptorLimit(current: current, maximum: maximum)
    }

    /// Raises the limit to the maximum and tells what holds then.
    @discardableResult
    package static func raise() throws(SystemError) -> DescriptorLimit {
        let limit = try read()
        guard limit.current < limit.maximum else { return limit }
        try SystemCall.check("setrlimit") { rw_descriptor_limit_set(limit.maximum) }
        return try read()
    }
}
