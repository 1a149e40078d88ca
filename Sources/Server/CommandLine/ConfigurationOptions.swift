// `--config`, `--set` and `--line`: on every command that places or answers calls.

package import CallEngine
package import FlowEngine

package struct ConfigurationOptions: Equatable, Sendable {
    /// nil: ringwright.yaml of the current folder, if it is there.
    package var file: String?
    package var overrides: [ConfigurationOverride]

    package init(_ arguments: CommandArguments) throws(CommandFailure) {
        file = arguments.value("--config")
        overrides = []
        for assignment in arguments.all("--set") {
            guard let override = ConfigurationOverride(assignment: assignment) else {
                throw CommandFailure(
                    .wrong, "--set takes a path and a value, not \"\(assignment)\"",
                    mend: "write --set lines.carrier.sip.server=127.0.0.1")
            }
            overrides.append(override)
        }
    }

    /// Reads the configuration. Errors in it end the command; warnings are returned.
    package func load(
        sources: ConfigurationSources = .process
    ) throws(CommandFailure) -> (configuration: Configuration, warnings: [Diagnostic]) {
        let path = file ?? (sources.fileExists(Self.usualFile) ? Self.usualFile : nil)
        let (configuration, findings) = ConfigurationReader.read(path: path, overrides: overrides, sources: sources)
        let errors = findings.filter { $0.severity == .error }
        guard errors.isEmpty else {
            throw CommandFailure(.wrong, "the configuration has mistakes:\n" + errors.map(\.description).joined(separator: "\n"))
        }
        return (configuration, findings)
    }

    package static let usualFile = "ringwright.yaml"
}

extension Configuration {
    /// The line that `--line` names.
    package func line(chosen name: String) throws(CommandFailure) -> LineSettings {
        if let line = line(named: name) { return line }
        let names = lines.map(\.name)
        let near = NearestWord.find(name, in: names).map { "did you mean \($0)?" }
        throw CommandFailure(
            .wrong, "the configuration has no line \(name)",
            mend: near ?? (names.isEmpty ? "it has none at all" : "its lines are: \(names.joined(separator: ", "))"))
    }
}
