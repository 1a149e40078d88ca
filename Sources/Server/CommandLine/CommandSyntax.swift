// What a subcommand takes: its help, and its arguments once they are read. GNU style: `--name value`, `--name=value`, `--` ends the
// options, options and arguments in any order.

package import Basics
import FlowEngine

/// An option of a subcommand.
package struct CommandOption: Equatable, Sendable {
    /// With its dashes: `--rtp`.
    package var name: String
    /// What the help calls the value: `LOW-HIGH`; nil: the option is a switch.
    package var value: String?
    package var isRepeatable: Bool
    package var help: String

    package init(_ name: String, _ value: String?, repeatable: Bool = false, _ help: String) {
        self.name = name
        self.value = value
        isRepeatable = repeatable
        self.help = help
    }

    /// Every command has it.
    package static let helpSwitch = CommandOption("--help", nil, "this text")
    package static let json = CommandOption("--json", nil, "prints results as JSON, one object a line")
    /// Every command that places or answers calls has these.
    package static let configuration = [
        CommandOption("--config", "FILE", "the configuration (default: ringwright.yaml in the current folder, if it is there)"),
        CommandOption("--set", "PATH=VALUE", repeatable: true, "replaces one value of the configuration")
    ]
    package static let line = CommandOption("--line", "NAME", "the line of the configuration that calls go out through")
}

/// What a subcommand takes.
package struct CommandSyntax: Equatable, Sendable {
    package var name: String
    /// One line for the list of commands.
    package var summary: String
    /// The arguments besides options, as the help shows them: `TARGET`, `[FLOW]`, `FILE…`.
    package var arguments: String
    /// How many of them there may be.
    package var count: ClosedRange<Int>
    package var options: [CommandOption]
    /// A whole command line, and what it does.
    package var examples: [(line: String, does: String)]

    package init(
        name: String, summary: String, arguments: String = "", count: ClosedRange<Int> = 0...0, options: [CommandOption],
        examples: [(line: String, does: String)]
    ) {
        self.name = name
        self.summary = summary
        self.arguments = arguments
        self.count = count
        self.options = options + [.helpSwitch]
        self.examples = examples
    }

    package static func == (left: CommandSyntax, right: CommandSyntax) -> Bool { left.name == right.name }

    /// The whole help text.
    package var help: String {
        var lines = [
            "usage: ringwright \(name)\(arguments.isEmpty ? "" : " \(arguments)") [options]", "", summary, "", "options:"
        ]
        let names = options.map { "\($0.name)\($0.value.map { " \($0)" } ?? "")" }
        let width = names.map(\.count).max() ?? 0
        for (option, name) in zip(options, names) {
            let padding = String(repeating: " ", count: width - name.count)
            lines.append("  \(name)\(padding)  \(option.help)\(option.isRepeatable ? " (may be repeated)" : "")")
        }
        lines += ["", examples.count == 1 ? "example:" : "examples:"]
        for example in examples { lines += ["  ringwright \(example.line)", "      \(example.does)"] }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Reads the arguments that follow the subcommand's name.
    package func parse(_ words: [String]) throws(CommandFailure) -> CommandArguments {
        var result = CommandArguments(command: name)
        var rest = words[...]
        var optionsEnded = false
        while let word = rest.popFirst() {
            if optionsEnded || !word.hasPrefix("-") || word == "-" {
                result.arguments.append(word)
            } else if word == "--" {
                optionsEnded = true
            } else {
                try option(word, &rest, &result)
            }
        }
        if result.wantsHelp { return result }
        if result.arguments.count < count.lowerBound {
            throw CommandFailure(.wrong, "\(name) needs \(arguments)", mend: "ringwright \(name) --help shows an example")
        }
        if result.arguments.count > count.upperBound {
            throw CommandFailure(
                .wrong, "\(name) does not know what to do with \"\(result.arguments[count.upperBound])\"",
                mend: "usage: ringwright \(name)\(arguments.isEmpty ? "" : " \(arguments)") [options]")
        }
        return result
    }

    private func option(
        _ word: String, _ rest: inout ArraySlice<String>, _ result: inout CommandArguments
    ) throws(CommandFailure) {
        let name = word == "-h" ? "--help" : String(word.prefix { $0 != "=" })
        let attached = name.count < word.count && word != "-h" ? String(word.dropFirst(name.count + 1)) : nil
        guard let option = options.first(where: { $0.name == name }) else {
            let near = NearestWord.find(name, in: options.map(\.name))
            throw CommandFailure(
                .wrong, "\(self.name) has no option \(name)",
                mend: near.map { "did you mean \($0)?" } ?? "ringwright \(self.name) --help lists them")
        }
        if option.value == nil {
            guard attached == nil else { throw CommandFailure(.wrong, "\(name) takes no value") }
            result.values[name, default: []].append("")
            return
        }
        // A value that looks like an option is a forgotten value, unless it is attached.
        guard let value = attached ?? rest.first.flatMap({ $0.hasPrefix("--") ? nil : $0 }) else {
            throw CommandFailure(.wrong, "\(name) needs a value: \(name) \(option.value ?? "")")
        }
        if attached == nil { rest.removeFirst() }
        if !option.isRepeatable, result.values[name] != nil {
            throw CommandFailure(.wrong, "\(name) is there twice")
        }
        result.values[name, default: []].append(value)
    }
}

/// The arguments of a subcommand, as they were given.
package struct CommandArguments: Equatable, Sendable {
    package var command: String
    package var arguments: [String] = []
    /// By option; a switch has an empty value for each time.
    package var values: [String: [String]] = [:]

    package init(command: String) {
        self.command = command
    }

    package var wantsHelp: Bool { has("--help") }
    package var wantsJSON: Bool { has("--json") }

    package func has(_ option: String) -> Bool { values[option] != nil }
    package func value(_ option: String) -> String? { values[option]?.last }
    package func all(_ option: String) -> [String] { values[option] ?? [] }

    /// A whole number in a range.
    package func integer(_ option: String, in range: ClosedRange<Int>) throws(CommandFailure) -> Int? {
        guard let text = value(option) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw CommandFailure(
                .wrong, "\(option) is a whole number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
        }
        return number
    }

    /// `NAME=VALUE`, in the order given; all values are text.
    package func assignments(_ option: String) throws(CommandFailure) -> [(name: String, value: String)] {
        var result: [(name: String, value: String)] = []
        for assignment in all(option) {
            guard let equals = assignment.firstIndex(of: "="), equals > assignment.startIndex else {
                throw CommandFailure(.wrong, "\(option) takes NAME=VALUE, not \"\(assignment)\"")
            }
            result.append((String(assignment[..<equals]), String(assignment[assignment.index(after: equals)...])))
        }
        return result
    }

    /// A number in a range, whole or not.
    package func number(_ option: String, in range: ClosedRange<Double>) throws(CommandFailure) -> Double? {
        guard let text = value(option) else { return nil }
        guard let number = Double(text), range.contains(number) else {
            throw CommandFailure(.wrong, "\(option) is a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
        }
        return number
    }

    /// A number over 0: calls a second, or so many times.
    package func rate(_ option: String) throws(CommandFailure) -> Double? {
        guard let text = value(option) else { return nil }
        guard let number = Double(text), number > 0, number <= 1_000_000 else {
            throw CommandFailure(.wrong, "\(option) is a number over 0, such as 100 or 0.5, not \"\(text)\"")
        }
        return number
    }

    /// An address of this machine with its port: `127.0.0.1:9100`.
    package func address(_ option: String) throws(CommandFailure) -> SocketAddress? {
        guard let text = value(option) else { return nil }
        guard let address = SocketAddress(text) else {
            throw CommandFailure(.wrong, "\(option) is an address with a port, such as 127.0.0.1:9100, not \"\(text)\"")
        }
        return address
    }

    /// A duration as flows write it.
    package func duration(_ option: String) throws(CommandFailure) -> Duration? {
        guard let text = value(option) else { return nil }
        do {
            return try FlowDuration.parse(text)
        } catch {
            throw CommandFailure(.wrong, "\(option): \(error.message)")
        }
    }
}
