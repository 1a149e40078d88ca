// Keeps what is played under the prompts folder and what is recorded under the recordings folder, whatever `..`, links or values say.

import Foundation

package enum PathConfinement {
    package struct Refused: Error, Equatable, Sendable {
        /// Ready for a log line.
        package let message: String
    }

    /// The parts of `name`, of which nothing can be said against but where links lead. Refuses absolute names, `..` and control signs.
    package static func parts(of name: String) throws(Refused) -> [Substring] {
        guard !name.isEmpty else { throw Refused(message: "the file name is empty") }
        guard name.utf8.count <= 1024 else { throw Refused(message: "the file name is longer than 1024 bytes") }
        guard !name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw Refused(message: "the file name holds control signs")
        }
        guard !name.hasPrefix("/"), !name.hasPrefix("~") else {
            throw Refused(message: "`\(name)` is absolute; names are relative to their folder")
        }
        let parts = name.split(separator: "/").filter { $0 != "." }
        guard !parts.isEmpty, !parts.contains("..") else { throw Refused(message: "`\(name)` leads out of its folder") }
        return parts
    }

    /// The absolute path of `name` below `folder`. Refuses absolute names, `..`, control signs, and paths that a symbolic link leads
    /// elsewhere. What does not exist yet is judged by the nearest folder that does.
    package static func resolve(_ name: String, under folder: String) throws(Refused) -> String {
        let parts = try parts(of: name)
        let root = real(folder) ?? absolute(folder)
        let path = root + "/" + parts.joined(separator: "/")
        var existing = path
        while existing.utf8.count > root.utf8.count, !exists(existing) {
            existing = String(existing[..<(existing.lastIndex(of: "/") ?? existing.startIndex)])
        }
        guard existing.utf8.count > root.utf8.count else { return path }
        guard let resolved = real(existing), resolved == root || resolved.hasPrefix(root + "/") else {
            throw Refused(message: "`\(name)` leads out of its folder by a link")
        }
        return path
    }

    /// `path` joined with `folder` unless it is absolute.
    package static func join(_ folder: String, _ path: String) -> String {
        if path.hasPrefix("/") { return path }
        return folder.isEmpty || folder == "." ? path : folder + "/" + path
    }

    package static func folder(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }

    /// The path as flows write it: relative to the first of the folders that holds it.
    static func relative(_ path: String, to folders: [String]) -> String {
        for folder in folders {
            let root = (real(folder) ?? absolute(folder)) + "/"
            if path.hasPrefix(root) { return String(path.dropFirst(root.count)) }
        }
        return folderless(path)
    }

    /// The last part of a path.
    static func folderless(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

    /// The names of the files in a folder, for "did you mean"; at most a thousand.
    static func names(in folder: String) -> [String] {
        Array(((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted().prefix(1000))
    }

    /// A link counts as existing even when it points nowhere.
    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    private static func real(_ path: String) -> String? {
        guard let pointer = realpath(path, nil) else { return nil }
        defer { free(pointer) }
        return String(cString: pointer)
    }

    private static func absolute(_ path: String) -> String {
        let joined = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        return URL(fileURLWithPath: joined).standardizedFileURL.path
    }
}
