import CLinux
import Glibc

/// Small files that are read and replaced as a whole. It blocks: for workers, and for the start.
package enum AtomicFile {
    /// The content of the file; nil: there is none.
    package static func read(_ path: String) throws(SystemError) -> [UInt8]? {
        let descriptor: Int32
        switch SystemCall.attempt({ open(path, O_RDONLY | O_CLOEXEC) }) {
        case .done(let number): descriptor = Int32(number)
        case .failed(ENOENT): return nil
        case .failed(let number): throw SystemError(number, "open \(path)")
        case .notNow: throw SystemError(EAGAIN, "open \(path)")
        }
        defer { SystemCall.close(descriptor) }
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try SystemCall.check("read \(path)") { Glibc.read(descriptor, &buffer, buffer.count) }
            if count == 0 { return result }
            result += buffer[..<Int(count)]
        }
    }

    /// Replaces the file: whoever reads it sees the old content or the new one, also after a crash. Only its owner can read it.
    package static func write(_ content: [UInt8], to path: String) throws(SystemError) {
        let draft = "\(path).new"
        let descriptor = try SystemCall.check("open \(draft)") { open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600) }
        do throws(SystemError) {
            defer { SystemCall.close(descriptor) }
            var written = 0
            while written < content.count {
                written += Int(
                    try SystemCall.check("write \(draft)") {
                        content.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written) }
                    })
            }
            try SystemCall.check("fsync \(draft)") { fsync(descriptor) }
        } catch {
            unlink(draft)
            throw error
        }
        try SystemCall.check("rename \(draft)") { rename(draft, path) }
    }
}
