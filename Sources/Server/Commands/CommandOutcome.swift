// What a command that does its work in one go has to say. The program prints it; so the commands themselves can be tested.

import Basics

package struct CommandOutcome: Equatable, Sendable {
    /// For standard output; ends with a line break unless empty. Without control characters: part of it are the words of others.
    package var output: String
    /// For standard error: a sum that is no result.
    package var note: String
    package var status: ExitStatus

    package init(output: String = "", note: String = "", status: ExitStatus = .passed) {
        self.output = VisibleText.escaped(output, keepsLines: true)
        self.note = VisibleText.escaped(note, keepsLines: true)
        self.status = status
    }

    /// Lines as output.
    package init(lines: [String], note: String = "", status: ExitStatus) {
        self.init(output: lines.map { $0 + "\n" }.joined(), note: note, status: status)
    }
}
