// Where a command's words go: results to standard output, all else to standard error, progress to a terminal only.

import Basics
import Foundation
import Reactor
import Server

enum Terminal {
    /// Whether somebody watches.
    static let isWatched = isatty(STDERR_FILENO) == 1

    private static let cutShort = Locked(false)
    /// Whether a result could not be written (a full disk): then the run is not well, whatever it came to.
    static var isCutShort: Bool { cutShort.withLock { $0 } }

    /// A result, as it is. A reader who went away (`| head`) ends the output and not with a trap.
    static func print(_ text: String) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            let number = Int32(cause?.code ?? 0)
            guard number != EPIPE else { return }
            let isFirst = cutShort.withLock { value in
                defer { value = true }
                return !value
            }
            if isFirst { complain("the result cannot be written: \(String(cString: strerror(number)))") }
        }
    }

    /// A line for somebody who watches.
    static func progress(_ line: String) {
        if isWatched { note(line) }
    }

    /// A line besides the results. What others wrote in it does not steer the terminal.
    static func note(_ line: String) {
        let text = VisibleText.escaped(line, keepsLines: true) + "\n"
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    /// Why the command did not do its work.
    static func complain(_ message: String) { note("ringwright: \(message)") }

    /// Prints what a command has to say.
    static func show(_ outcome: CommandOutcome) -> ExitStatus {
        print(outcome.output)
        if !outcome.note.isEmpty { note(outcome.note) }
        return outcome.status
    }
}
