// Folders that commands write into.

import Foundation
import Reactor

package enum OutputFolder {
    /// Makes a folder that a command was asked to write into, so that a call does not run for nothing; one that is there stays.
    package static func make(_ path: String) throws(CommandFailure) {
        do throws(SystemError) {
            try Folder.make(path)
        } catch {
            throw CommandFailure(.unable, "the folder \(path) cannot be made: \(error)")
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            throw CommandFailure(.unable, "\(path) is no folder", mend: "choose another one")
        }
        guard FileManager.default.isWritableFile(atPath: path) else {
            throw CommandFailure(.unable, "this user may not write to \(path)", mend: "chown it, or choose another folder")
        }
    }

    /// Removes a file that is no longer wanted; one that is not there is no problem.
    static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

    /// Removes a folder in which there is nothing.
    static func removeEmpty(_ path: String) { rmdir(path) }
}
