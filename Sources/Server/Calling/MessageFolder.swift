// `--trace`: the SIP messages of a command as text, with what must not be told left out.

import Basics
package import CallEngine
import FlowEngine
import Foundation
import Reactor

/// Gathers messages and writes them into a folder: `messages.txt` as they passed, `ladder.txt` as a ladder.
package final class MessageFolder: Sendable {
    private let path: String
    private let messages = Locked<[TracedMessage]>([])
    /// Messages that are kept; a call has far fewer.
    private static let capacity = 10_000

    package init(_ path: String) throws(CommandFailure) {
        self.path = path
        try Self.make(path)
    }

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

    /// From any thread.
    package func add(_ message: TracedMessage) {
        messages.withLock { if $0.count < Self.capacity { $0.append(message) } }
    }

    /// Writes both files; the paths.
    package func write(names: (here: String, there: String)) throws(CommandFailure) -> [String] {
        let messages = self.messages.withLock { $0 }
        let start = messages.first?.at ?? .zero
        var text = ""
        var lines = [Ladder(left: names.here, right: names.there, start: start).heading]
        for message in messages {
            let way = message.direction == .sent ? "to" : "from"
            text += "--- \((message.at - start).milliseconds) ms \(way) \(message.remote) (here: \(message.local))\n"
            text += Self.masked(String(decoding: message.bytes, as: UTF8.self)) + "\n"
            lines.append(
                Ladder(left: names.here, right: names.there, start: start).message(
                    Ladder.label(of: message.bytes), from: message.direction == .sent ? .left : .right, at: message.at))
        }
        let files = [("messages.txt", text), ("ladder.txt", lines.joined(separator: "\n") + "\n")]
        return try files.map { (name, content) throws(CommandFailure) in
            let file = path + "/" + name
            do {
                try content.write(toFile: file, atomically: true, encoding: .utf8)
            } catch {
                throw CommandFailure(.unable, "\(file) cannot be written: \(error.localizedDescription)")
            }
            return file
        }
    }

    /// What proves a password (response, cnonce) is not for everybody's eyes.
    static func masked(_ message: String) -> String {
        message.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            let name = line.prefix { $0 != ":" }.lowercased()
            guard name == "authorization" || name == "proxy-authorization" else { return String(line) }
            return String(line.replacing(/(response|cnonce)="[^"]*"/) { "\($0.output.1)=\"•••\"" })
        }.joined(separator: "\n")
    }
}
