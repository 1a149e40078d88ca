// How a command ends, for the shell that started it.

/// The exit status of a command. A run that was cut short is never `passed`.
package enum ExitStatus: Int32, Sendable, CaseIterable, Comparable {
    /// All passed.
    case passed = 0
    /// A call, an expectation or a flow test failed.
    case failed = 1
    /// The command, a file or a flow is wrong.
    case wrong = 2
    /// This machine cannot do it (port taken, too few file descriptors, library missing), or spoiled the run.
    case unable = 3

    package static func < (left: ExitStatus, right: ExitStatus) -> Bool { left.rawValue < right.rawValue }
}

/// Why a command ends before it did its work: printed to standard error as `ringwright: message; mend`.
package struct CommandFailure: Error, Equatable, Sendable, CustomStringConvertible {
    package var status: ExitStatus
    package var message: String
    /// What to do about it; nil when nobody can know.
    package var mend: String?

    package init(_ status: ExitStatus, _ message: String, mend: String? = nil) {
        self.status = status
        self.message = message
        self.mend = mend
    }

    package var description: String { message + (mend.map { "; \($0)" } ?? "") }
}
