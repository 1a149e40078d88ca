import CLinux
import COpenSSL
import Glibc

/// Files by key in a folder that other processes may share, up to a number of octets: the one that was longest unused goes first, and
/// none that was used within the last minute. When a file was used is its access time, which is set here, whatever the file system
/// does by itself. It blocks: for workers.
package final class FileCache: Sendable {
    package let folder: String
    /// The most octets that it keeps.
    package let budget: Int
    /// What lies in the folder as far as it is known; nil before the first look.
    private let size = Locked<Int?>(nil)
    private let drafts = Locked(0)
    /// Files that were used within so many seconds stay.
    private static let grace = 60
    /// What a process left half written goes after so many seconds.
    private static let longestDraft = 3600

    /// The folder is made with the first file.
    package init(folder: String, budget: Int) {
        self.folder = folder
        self.budget = budget
    }

    /// Octets of files that are kept, as far as it is known.
    package var octets: Int { size.withLock { $0 ?? 0 } }

    /// Where a key's file lies, whether there is one or not. `ending` begins with a dot or is empty.
    package func path(of key: String, ending: String = "") -> String { "\(folder)/\(Self.name(of: key))\(ending)" }

    /// Whether the file is there, with an octet at least; it counts as used then.
    package func use(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return false }
        // The access time alone: the other one tells whether a file has changed.
        let times = [
            timespec(tv_sec: time(nil), tv_nsec: 0), timespec(tv_sec: 0, tv_nsec: Int((1 << 30) - 2))  // UTIME_OMIT
        ]
        utimensat(AT_FDCWD, path, times, 0)
        return true
    }

    /// Keeps a file under `path`, which was made with `path(of:ending:)`: whoever reads it sees the old content or the new one.
    /// - Parameter refuse: looks at the file before it takes its place; why it must not, or nil.
    /// - Returns: why it was refused; nil: it is kept.
    package func keep(
        _ content: [UInt8], at path: String, unless refuse: (_ path: String) -> String? = { _ in nil }
    ) throws(SystemError) -> String? {
        try Folder.make(folder)
        let number = drafts.withLock { number in
            number += 1
            return number
        }
        // The ending stays at the end: it may say the format.
        let name = path.dropFirst(folder.utf8.count + 1)
        let draft = "\(folder)/draft-\(getpid())-\(number)-\(name)"
        try AtomicFile.write(content, to: draft)
        if let reason = refuse(draft) {
            unlink(draft)
            return reason
        }
        do throws(SystemError) {
            try SystemCall.check("rename \(draft)") { rename(draft, path) }
        } catch {
            unlink(draft)
            throw error
        }
        grow(by: content.count)
        return nil
    }

    package func remove(_ path: String) { unlink(path) }

    private func grow(by octets: Int) {
        let known: Int? = size.withLock { size in
            size = size.map { $0 + octets }
            return size
        }
        if known == nil || known ?? 0 > budget { trim() }
    }

    private struct Kept {
        var path: String
        var size: Int
        var used: Int
    }

    /// Looks at all files, and removes what is too much, down to nine tenths of the budget.
    private func trim() {
        let now = time(nil)
        var files: [Kept] = []
        var total = 0
        for name in (try? Folder.names(in: folder)) ?? [] {
            let path = "\(folder)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            let used = max(status.st_atim.tv_sec, status.st_mtim.tv_sec)
            if name.hasPrefix("draft-") {
                if now - used > Self.longestDraft { unlink(path) }
                continue
            }
            files.append(Kept(path: path, size: Int(status.st_size), used: used))
            total += Int(status.st_size)
        }
        if total > budget {
            files.sort { $0.used < $1.used }
            for file in files where total > budget / 10 * 9 && now - file.used > Self.grace {
                unlink(file.path)
                total -= file.size
            }
        }
        let left = total
        size.withLock { $0 = left }
    }

    /// The SHA-256 of the key, in hexadecimal digits: safe in a file name, and nobody reads a secret from it.
    package static func name(of key: String) -> String {
        let octets = Array(key.utf8)
        var digest = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        let isDone = EVP_Digest(octets, octets.count, &digest, &length, EVP_sha256(), nil)
        precondition(isDone == 1 && length == 32, "OpenSSL has no SHA-256")
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
