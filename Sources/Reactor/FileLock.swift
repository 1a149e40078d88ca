import CLinux
import Glibc

/// A file that one process has at a time (flock(2)). The system takes it back from a process that ends, however it ends.
package final class FileLock: Sendable {
    private let descriptor: Locked<Int32?>

    private init(_ descriptor: Int32) {
        self.descriptor = Locked(descriptor)
    }

    /// Takes the file, which is made when it is not there and stays when it is given back; nil: somebody else has it.
    package static func take(_ path: String) throws(SystemError) -> FileLock? {
        let descriptor = try SystemCall.check("open \(path)") { open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }
        switch SystemCall.attempt({ flock(descriptor, LOCK_EX | LOCK_NB) }) {
        case .done: return FileLock(descriptor)
        case .notNow:
            SystemCall.close(descriptor)
            return nil
        case .failed(let number):
            SystemCall.close(descriptor)
            throw SystemError(number, "flock \(path)")
        }
    }

    deinit { release() }

    /// Gives it back; once is enough.
    package func release() {
        descriptor.withLock { descriptor in
            if let open = descriptor { SystemCall.close(open) }
            descriptor = nil
        }
    }
}
