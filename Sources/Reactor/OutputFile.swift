import CLinux
import Glibc

/// A file that grows at its end. It blocks: for workers. Belongs to the thread that writes.
package final class OutputFile {
    package let path: String
    /// Octets written so far.
    package private(set) var size = 0
    private let descriptor: Int32

    /// Makes the file, empty, for its owner and group; one that exists is replaced, a symbolic link refused.
    package init(_ path: String) throws(SystemError) {
        self.path = path
        descriptor = try SystemCall.check("open \(path)") {
            open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o640)
        }
    }

    deinit { SystemCall.close(descriptor) }

    package func append(_ content: [UInt8]) throws(SystemError) {
        var written = 0
        while written < content.count {
            written += Int(
                try SystemCall.check("write \(path)") {
                    content.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written) }
                })
        }
        size += written
    }
}

/// Folders and what lies in them. It blocks: for workers, and for the start.
package enum Folder {
    /// Makes it, with the folders above it that are missing; one that is there stays.
    package static func make(_ path: String) throws(SystemError) {
        var end = path.startIndex
        while end < path.endIndex {
            end = path[end...].dropFirst().firstIndex(of: "/") ?? path.endIndex
            let part = String(path[..<end])
            if case .failed(let number) = SystemCall.attempt({ mkdir(part, 0o750) }), number != EEXIST {
                throw SystemError(number, "mkdir \(part)")
            }
        }
    }

    /// The names of what lies in it, in no order.
    package static func names(in path: String) throws(SystemError) -> [String] {
        guard let stream = opendir(path) else { throw SystemError(errno, "opendir \(path)") }
        defer { closedir(stream) }
        var result: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { result.append(name) }
        }
        return result
    }

    /// Removes a folder and the files in it; one with folders in it stays.
    package static func remove(_ path: String) throws(SystemError) {
        for name in try names(in: path) { try SystemCall.check("unlink \(path)/\(name)") { unlink("\(path)/\(name)") } }
        try SystemCall.check("rmdir \(path)") { rmdir(path) }
    }
}
