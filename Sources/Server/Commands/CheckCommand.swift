// `ringwright check`: the mistakes of flows and configurations.

import Basics
package import FlowEngine

package enum CheckCommand {
    /// What a file is, by its words: `ringwright check` takes both.
    package enum Kind: Equatable, Sendable {
        case flow
        case campaign
        case configuration
    }

    package static func run(_ options: CheckOptions, sources: ConfigurationSources = .process) -> CommandOutcome {
        var findings: [Diagnostic] = []
        for file in options.files { findings += check(file, sources) }
        let errors = findings.count { $0.severity == .error }
        let warnings = findings.count - errors
        let status = errors == 0 ? ExitStatus.passed : .wrong
        if options.json { return CommandOutcome(lines: findings.map { json(of: $0).text }, status: status) }
        let files = options.files.count == 1 ? "1 file" : "\(options.files.count) files"
        return CommandOutcome(
            lines: findings.map(\.description), note: "\(files), \(counted(errors, "error")), \(counted(warnings, "warning"))",
            status: status)
    }

    /// All findings about one file, in its order.
    package static func check(_ file: String, _ sources: ConfigurationSources) -> [Diagnostic] {
        guard let text = sources.readFile(file) else {
            let why = sources.fileExists(file) ? "the file cannot be read as UTF-8 text" : "there is no such file"
            return [Diagnostic(.error, at: SourcePlace(file: file, line: 1, column: 1), why)]
        }
        switch kind(of: text) {
        case .configuration: return ConfigurationReader.read(text: text, file: file, sources: sources).findings
        case .flow: return FlowFiles.check(file)
        case .campaign: return CampaignFiles.check(file)
        }
    }

    /// A flow has a name or sections, a campaign has targets; everything else is read as a configuration, whose reader names what it does
    /// not know.
    package static func kind(of text: String) -> Kind {
        guard let root = YAML.parse(text, file: "", into: DiagnosticSink()) else { return textualKind(of: text) }
        if root["targets"] != nil || root["campaign"] != nil { return .campaign }
        return root["flow"] != nil || root["sections"] != nil ? .flow : .configuration
    }

    /// For files that are no YAML at all: the reader of the likelier kind explains why.
    private static func textualKind(of text: String) -> Kind {
        text.split(separator: "\n").contains { $0.hasPrefix("flow:") || $0.hasPrefix("sections:") } ? .flow : .configuration
    }

    static func json(of finding: Diagnostic) -> JSONText {
        .object([
            ("file", .string(finding.place.file)), ("line", .count(finding.place.line)), ("column", .count(finding.place.column)),
            ("severity", .string(finding.severity.rawValue)), ("message", .string(finding.message)),
            ("mend", finding.mend.map { .string($0) } ?? .null)
        ])
    }

    private static func counted(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }
}
