// Variables of a scenario: names become places in a table when the file is read; values live with the call, the user or the run.

/// Where a variable's value lives.
package enum VariableScope {
    case call, user, global
}

/// The value of a variable.
package enum VariableValue {
    case unset
    case number(Double)
    case flag(Bool)
    case text([UInt8])
    /// What a regular expression found.
    case match([UInt8])
    /// A regular expression found nothing.
    case noMatch

    /// What `test`, `condexec` and `next` ask: a found match, a true flag, or anything that has been set.
    package var isTrue: Bool {
        switch self {
        case .unset, .noMatch: false
        case .flag(let value): value
        case .number, .text, .match: true
        }
    }

    /// As text: numbers with six decimals, as C's `%lf` writes them.
    package var octets: [UInt8] {
        switch self {
        case .unset, .noMatch: []
        case .number(let value): Array(Decimal6.text(value).utf8)
        case .flag(let value): Array((value ? "true" : "false").utf8)
        case .text(let octets), .match(let octets): octets
        }
    }

    /// As a number: text is read from its start as C's `strtod` does; nil when there is none in it.
    package var number: Double? {
        switch self {
        case .number(let value): value
        case .flag(let value): value ? 1 : 0
        case .text(let octets), .match(let octets): Decimal6.number(octets)
        case .unset, .noMatch: nil
        }
    }
}

/// The names of a scenario's variables.
package struct VariableTable {
    package private(set) var names: [String] = []
    package private(set) var scopes: [VariableScope] = []
    /// How often each is used, and where first: a name that is there once is a slip of the pen.
    package private(set) var uses: [Int] = []
    package private(set) var lines: [Int] = []
    private var byName: [String: Int] = [:]

    package init() {}

    package func index(of name: String) -> Int? { byName[name] }

    /// The place of a variable, which is made with its first use.
    package mutating func use(_ name: String, line: Int) -> Int {
        if let index = byName[name] {
            uses[index] += 1
            return index
        }
        byName[name] = names.count
        names.append(name)
        scopes.append(.call)
        uses.append(1)
        lines.append(line)
        return names.count - 1
    }

    /// Gives a variable a scope. A use of its own.
    package mutating func declare(_ name: String, _ scope: VariableScope, line: Int) {
        let index = use(name, line: line)
        scopes[index] = scope
    }
}
