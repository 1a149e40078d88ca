// Where values come from that do not stand in the file: the environment and other files. `${env.NAME}` and `${file./path}` keep
// secrets out of ringwright.yaml.

import FlowEngine
import Foundation

/// The outside world of a configuration, so that tests can bring their own.
package struct ConfigurationSources: Sendable {
    package var environment: [String: String]
    /// The text of a file; nil when it cannot be read.
    package var readFile: @Sendable (_ path: String) -> String?
    /// Whether a file exists.
    package var fileExists: @Sendable (_ path: String) -> Bool

    package init(
        environment: [String: String], readFile: @escaping @Sendable (String) -> String?,
        fileExists: @escaping @Sendable (String) -> Bool
    ) {
        self.environment = environment
        self.readFile = readFile
        self.fileExists = fileExists
    }

    /// This process's environment and this machine's files.
    package static let process = ConfigurationSources(
        environment: ProcessInfo.processInfo.environment,
        readFile: { path in
            guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
            defer { try? handle.close() }
            // One byte more than any file of ours may have: the reader then says that it is too large.
            guard let data = try? handle.read(upToCount: YAMLLimits().bytes + 1) else { return nil }
            return String(data: data, encoding: .utf8)
        },
        fileExists: { FileManager.default.fileExists(atPath: $0) })
}

/// Text with its `${env.…}` and `${file.…}` put in.
struct Substituted {
    var text: String
    /// Whether anything was put in: then the text may be secret, and no message shows it.
    var isFromOutside: Bool
}

extension ConfigurationSources {
    struct Problem: Error {
        var message: String
        var mend: String?
    }

    /// Puts the values in. `$${` stands for `${`. Other `${…}` is kept when `keepsExpressions`, an error otherwise.
    func substitute(_ text: String, keepsExpressions: Bool = false) throws(Problem) -> Substituted {
        guard text.contains("${") else { return Substituted(text: text, isFromOutside: false) }
        var result = ""
        var rest = Substring(text)
        var isFromOutside = false
        while let dollar = rest.range(of: "${") {
            if dollar.lowerBound > rest.startIndex, rest[rest.index(before: dollar.lowerBound)] == "$" {
                result += keepsExpressions ? rest[..<dollar.upperBound] : rest[..<rest.index(before: dollar.lowerBound)] + "${"
                rest = rest[dollar.upperBound...]
                continue
            }
            result += rest[..<dollar.lowerBound]
            guard let end = rest[dollar.upperBound...].firstIndex(of: "}") else {
                throw Problem(message: "`${` without its `}`", mend: "write `$${` for the two signs themselves")
            }
            let inside = rest[dollar.upperBound..<end]
            if let value = try outside(inside) {
                result += value
                isFromOutside = true
            } else if keepsExpressions {
                result += rest[dollar.lowerBound...end]
            } else {
                throw Problem(
                    message: "`${\(inside)}` is nothing that a configuration knows",
                    mend: "there are ${env.NAME} for the environment and ${file./path} for a file")
            }
            rest = rest[rest.index(after: end)...]
        }
        return Substituted(text: result + rest, isFromOutside: isFromOutside)
    }

    private func outside(_ reference: Substring) throws(Problem) -> String? {
        if reference.hasPrefix("env.") {
            let name = String(reference.dropFirst(4))
            guard let value = environment[name] else {
                throw Problem(message: "the environment has no \(name)", mend: "set it before the start: export \(name)=…")
            }
            return value
        }
        if reference.hasPrefix("file.") {
            let path = String(reference.dropFirst(5))
            guard path.hasPrefix("/") else {
                throw Problem(message: "`\(path)` is not a whole path", mend: "write ${file./run/secrets/name}")
            }
            guard let value = readFile(path) else {
                throw Problem(message: "\(path) cannot be read", mend: "check that it exists and that this user may read it")
            }
            // Editors and `echo` end a file with a line break that nobody means.
            return value.hasSuffix("\r\n") ? String(value.dropLast()) : value.hasSuffix("\n") ? String(value.dropLast()) : value
        }
        return nil
    }
}
