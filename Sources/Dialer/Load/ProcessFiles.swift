// What the system tells about this process in /proc (proc(5)).

import Foundation

enum ProcessFiles {
    /// The names in a folder; none when it is not there.
    static func folder(_ path: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    }

    /// A file of /proc has no size: it is read until its end.
    static func text(_ path: String) -> String? {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.readToEnd() else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    /// The inodes of all sockets of this process, as /proc/net names them.
    static var socketInodes: Set<String> {
        var result: Set<String> = []
        for name in folder("/proc/self/fd") {
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)"),
                target.hasPrefix("socket:[")
            else { continue }
            result.insert(String(target.dropFirst(8).dropLast()))
        }
        return result
    }
}
