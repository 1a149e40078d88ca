// Reads SIPp's command line.

package enum OptionReader {
    /// Reads the words after the command.
    package static func read(_ words: [String]) throws(OptionError) -> Options {
        var options = Options()
        let table = Dictionary(OptionTable.all.map { ($0.name, $0.action) }) { first, _ in first }
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("-"), word != "-" else {
                guard options.remote == nil else {
                    throw OptionError(message: "what is \"\(word)\"? The remote host is \(options.remote ?? "") already")
                }
                options.remote = word
                continue
            }
            guard let action = table[word] ?? table[String(word.dropFirst())] else {
                throw OptionError(message: "Invalid argument: '\(word)'. ringwright sipp -h lists them")
            }
            func value() throws(OptionError) -> String {
                guard let text = rest.popFirst() else { throw OptionError(message: "\(word) needs a value") }
                return text
            }
            switch action {
            case .flag(let set): set(&options)
            case .text(let set): set(&options, try value())
            case .pair(let set):
                let first = try value()
                try set(&options, first, try value())
            case .whole(let set):
                let text = try value()
                guard let number = Int(text), number.magnitude <= 1_000_000_000_000 else {
                    throw OptionError(message: "\(word), \"\(text)\" is not a valid integer!")
                }
                set(&options, number)
            case .number(let set):
                let text = try value()
                guard let number = Double(text), number >= 0, number <= 1e9 else {
                    throw OptionError(message: "\(word), \"\(text)\" is not a valid number!")
                }
                set(&options, number)
            case .time(let unit, let set): set(&options, try milliseconds(try value(), unit: unit, of: word))
            case .checked(let set): try set(&options, try value())
            case .ignored(let values): for _ in 0..<values { _ = try value() }
            case .refused(let reason): throw OptionError(message: "\(word): \(reason)")
            }
        }
        try check(options)
        return options
    }

    private static func check(_ options: Options) throws(OptionError) {
        if options.scenarioFile != nil, options.scenarioName != nil {
            throw OptionError(message: "-sf and -sn exclude each other")
        }
        if options.timeoutIsError, options.timeout == nil { throw OptionError(message: "-timeout_error needs -timeout") }
        if options.ratePeriod < 1 { throw OptionError(message: "-rp is at least 1 (milliseconds)") }
        if options.master != nil, options.slave != nil { throw OptionError(message: "-master and -slave exclude each other") }
        if options.master != nil || options.slave != nil, options.slaveConfiguration == nil {
            throw OptionError(message: "-slave_cfg is missing: the file with the names and addresses of all")
        }
        if options.twin != nil, options.slaveConfiguration != nil {
            throw OptionError(message: "-3pcc and -slave_cfg exclude each other")
        }
    }

    /// `10`, `10s`, `500ms`, `2m`, `1h`, `1:30`, `1:00:00` in milliseconds.
    static func milliseconds(_ text: String, unit: Double, of option: String) throws(OptionError) -> Double {
        let units: [(String, Double)] = [("ms", 1), ("h", 3_600_000), ("m", 60_000), ("s", 1000)]
        var result: Double?
        if text.contains(":") {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Double($0) }
            if (2...3).contains(parts.count), !parts.contains(nil) { result = parts.reduce(0) { $0 * 60 + ($1 ?? 0) } * 1000 }
        } else if let (suffix, factor) = units.first(where: { text.hasSuffix($0.0) }) {
            result = Double(text.dropLast(suffix.count)).map { $0 * factor }
        } else {
            result = Double(text).map { $0 * unit }
        }
        guard let result, result >= 0, result <= 1e12 else {
            throw OptionError(message: "\(option), \"\(text)\" is not a valid time! Write 500ms, 10s, 2m, 1h or 1:30")
        }
        return result
    }

    /// `all,-bye`
    static func behaviors(_ text: String) throws(OptionError) -> DefaultBehaviors {
        var result: DefaultBehaviors = []
        for word in text.split(separator: ",") {
            let isOff = word.hasPrefix("-")
            let name = isOff ? word.dropFirst() : word
            let behavior: DefaultBehaviors
            switch name {
            case "all": behavior = .all
            case "none":
                result = []
                continue
            case "bye": behavior = .bye
            case "abortunexp": behavior = .abortUnexpected
            case "pingreply": behavior = .pingReply
            case "cseq": continue
            default:
                throw OptionError(
                    message: "-default_behaviors: there is no \(name); there are all, none, bye, abortunexp and pingreply")
            }
            if isOff { result.subtract(behavior) } else { result.formUnion(behavior) }
        }
        return result
    }

    /// The text of `-h`.
    package static var help: String {
        var lines = [
            "usage: ringwright sipp REMOTE_HOST[:PORT] [options]", "",
            "runs SIPp's XML scenario files, with SIPp's arguments and exit codes", "", "options:"
        ]
        for entry in OptionTable.all where !entry.help.isEmpty {
            let name = entry.value.isEmpty ? entry.name : "\(entry.name) \(entry.value)"
            lines.append("  \(name)\(String(repeating: " ", count: max(1, 26 - name.count)))\(entry.help)")
        }
        lines += [
            "",
            "Exit status: 0 no call failed; 1 a call failed; 97 ended by int_cmd or -timeout without calls; 99 wrong arguments;",
            "253 an RTP check failed; 254 a socket could not be bound; 255 a fatal error.", "", "examples:",
            "  ringwright sipp -sn uas",
            "      answers calls on port 5060", "  ringwright sipp -sf my.xml -inf users.csv -r 50 -m 1000 192.0.2.1:5060",
            "      places 1000 calls by a scenario of one's own, 50 a second"
        ]
        return lines.joined(separator: "\n") + "\n"
    }
}
