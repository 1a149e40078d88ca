// Folders that commands write into.

import Foundation

package enum OutputFolder {
    /// Makes a folder that a command was asked to write into, so that a call does not run for nothing; one that is there stays.
    package static func make(_ path: String) throws(CommandFailure) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(.unable, "the folder \(path) cannot be made: \(error.localizedDescription)")
        }
        guard FileManager.default.isWritableFile(atPath: path) else {
            throw CommandFailure(.unable, "this user may not write to \(path)", mend: "chown it, or choose another folder")
        }
    }
}
