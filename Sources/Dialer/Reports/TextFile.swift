// A file of text that is there whole or not at all: written beside its place, then put there.

import Foundation

/// Used on one thread.
package final class TextFile {
    private let path: String
    private let file: FileHandle
    private var waiting: [UInt8] = []
    /// The first thing that went wrong; nothing is written after it.
    private(set) var problem: String?

    /// nil: the file cannot be made.
    package init?(_ path: String) {
        self.path = path
        guard FileManager.default.createFile(atPath: path + ".part", contents: nil),
            let file = FileHandle(forWritingAtPath: path + ".part")
        else { return nil }
        self.file = file
    }

    package func write(_ text: String) {
        waiting += text.utf8
        if waiting.count > 1 << 16 { flush() }
    }

    private func flush() {
        guard problem == nil else { return }
        do { try file.write(contentsOf: waiting) } catch { problem = error.localizedDescription }
        waiting.removeAll(keepingCapacity: true)
    }

    /// Puts it in its place; why that did not work.
    package func finish() -> String? {
        flush()
        try? file.close()
        if problem == nil, rename(path + ".part", path) != 0 { problem = String(cString: strerror(errno)) }
        if problem != nil { unlink(path + ".part") }
        return problem.map { "\(path) cannot be written: \($0)" }
    }
}
