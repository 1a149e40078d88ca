// What a file that people write (a flow, ringwright.yaml) has wrong, and how to mend it.

/// A place in a file: line and column count from 1, columns in Unicode scalars.
package struct SourcePlace: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var file: String
    package var line: Int
    package var column: Int

    package init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// `file:line:column`, as editors and terminals take it.
    package var description: String { "\(file):\(line):\(column)" }

    package static func < (left: SourcePlace, right: SourcePlace) -> Bool {
        (left.file, left.line, left.column) < (right.file, right.line, right.column)
    }
}

/// One thing that a checker found.
package struct Diagnostic: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Severity: String, Sendable {
        /// The file cannot be used.
        case error
        /// It can, but probably does not do what was meant.
        case warning
    }

    package var severity: Severity
    package var place: SourcePlace
    /// What is wrong, in words for the one who wrote the file.
    package var message: String
    /// What to write instead; nil when nobody can know.
    package var mend: String?

    package init(_ severity: Severity, at place: SourcePlace, _ message: String, mend: String? = nil) {
        self.severity = severity
        self.place = place
        self.message = message
        self.mend = mend
    }

    /// `file:line:column: error: message; mend`.
    package var description: String {
        "\(place): \(severity.rawValue): \(message)\(mend.map { "; \($0)" } ?? "")"
    }
}

/// Where a checker puts what it finds: it goes on after each finding, so that one run names them all.
package final class DiagnosticSink {
    /// In the order in which they were found, without repetitions.
    package private(set) var found: [Diagnostic] = []
    private var seen: Set<Diagnostic> = []

    package init() {}

    package var hasErrors: Bool { found.contains { $0.severity == .error } }
    /// In the order of the file.
    package var sorted: [Diagnostic] { found.sorted { $0.place < $1.place } }

    package func add(_ diagnostic: Diagnostic) {
        if seen.insert(diagnostic).inserted { found.append(diagnostic) }
    }

    package func error(at place: SourcePlace, _ message: String, mend: String? = nil) {
        add(Diagnostic(.error, at: place, message, mend: mend))
    }

    package func warning(at place: SourcePlace, _ message: String, mend: String? = nil) {
        add(Diagnostic(.warning, at: place, message, mend: mend))
    }
}
