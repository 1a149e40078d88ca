// G.729 as files of raw frames (`.g729`), 10 octets for 10 ms each (RFC 3551 section 4.5.6), as other systems keep their prompts. They are
// played as they are, in calls that speak it; nothing here codes it.

import Glibc

enum G729File {
    /// Octets of a frame, and what it lasts in milliseconds.
    static let frame = 10

    /// By the name's ending.
    static func isOne(_ path: String) -> Bool { path.lowercased().hasSuffix(".g729") }

    /// The file to be played for a prompt: itself, or the one of that name beside it; nil: there is none.
    static func beside(_ path: String) -> String? {
        if isOne(path) { return path }
        guard let dot = path.lastIndex(of: "."), !path[dot...].contains("/") else { return nil }
        let other = path[..<dot] + ".g729"
        return access(String(other), R_OK) == 0 ? String(other) : nil
    }

    /// The frames of a file.
    static func read(_ path: String, limits: PromptLimits) throws(PromptError) -> [UInt8] {
        let octets = try PromptFile.octets(of: path, limits: limits)
        guard octets.count % frame == 0 else {
            throw .notAudio(
                path: path, reason: "\(octets.count) octets are no whole number of frames of G.729, which have \(frame)")
        }
        guard Duration.milliseconds(octets.count) <= limits.length else {
            throw .tooLong(path: path, limit: "\(limits.length.components.seconds) s")
        }
        return octets
    }
}
