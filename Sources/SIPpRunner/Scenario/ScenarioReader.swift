// Reads a scenario file: elements and their attributes. In two passes, since labels and timers may be named before they are defined.
// An unknown attribute or element is a warning, as old files have them; what would change the meaning of a call is an error with its place.

import Dialer
import Foundation

/// Reads scenarios.
package struct ScenarioReader {
    let file: String
    var texts: TemplateReader
    var parts = ScenarioParts()
    private var referenced: Set<String> = []
    static let common = [
        "start_rtd", "rtd", "repeat_rtd", "counter", "next", "test", "chance", "condexec", "condexec_inverse", "crlf", "display",
        "hide", "hiderest", "timeout", "ontimeout", "lost"
    ]

    /// - Parameter keys: what `-key` defined.
    package init(file: String, keys: [String: String] = [:]) {
        self.file = file
        texts = TemplateReader(file: file)
        texts.keys = keys
    }

    /// Reads a whole file.
    package static func read(
        _ octets: [UInt8], file: String, keys: [String: String] = [:]
    ) throws(ScenarioError) -> (scenario: Scenario, warnings: [String]) {
        var xml = XMLReader(octets, file: file)
        let root = try xml.root()
        guard root.name == "scenario" else {
            throw ScenarioError(file, root.line, "the root element is <\(root.name)>; a scenario begins with <scenario>")
        }
        var reader = ScenarioReader(file: file, keys: keys)
        try reader.read(root)
        return (Scenario(reader.parts), reader.parts.warnings)
    }

    // MARK: The whole

    private mutating func read(_ root: XMLElement) throws(ScenarioError) {
        parts.name = root["name"] ?? ""
        parts.file = file
        let (steps, labels) = try collect(root.children)
        for element in root.children where element.name == "init" {
            let (inits, initLabels) = try collect(element.children)
            for step in inits {
                guard step.name == "nop" else { throw ScenarioError(file, step.line, "<init> takes <nop> and <label> only") }
                parts.initSteps.append(try self.step(step, labels: initLabels, count: 0))
            }
        }
        for element in root.children { try declaration(element) }
        for (index, element) in steps.enumerated() {
            if element.name == "timewait", index != steps.count - 1 {
                throw ScenarioError(file, element.line, "<timewait> must be the last step; use <pause> here")
            }
            parts.steps.append(try step(element, labels: labels, count: steps.count))
        }
        guard !parts.steps.isEmpty else { throw ScenarioError(file, root.line, "the scenario has no step") }
        if let main = labels["_unexp.main"] {
            parts.unexpected = main
            for name in ["_unexp.retaddr", "_unexp.pausedaddr"] where parts.variables.index(of: name) != nil {
                referenced.insert(name)
            }
        }
        referenced.insert("_dtmf")
        parts.acknowledgements = [Int?](repeating: nil, count: parts.transactions.count)
        for (index, step) in parts.steps.enumerated() {
            if case .send(let sending) = step.kind, let named = sending.acknowledges { parts.acknowledgements[named] = index }
        }
        try checkOptionalRuns()
        for (index, name) in parts.variables.names.enumerated()
        where parts.variables.uses[index] < 2 && !referenced.contains(name) {
            throw ScenarioError(
                file, parts.variables.lines[index],
                "the variable $\(name) is used only once; a slip of the pen? else name it in <Reference variables=\"\(name)\"/>")
        }
    }

    /// The steps in their order; labels are noted with the index of the step after them.
    private func collect(
        _ elements: [XMLElement]
    ) throws(ScenarioError) -> (steps: [XMLElement], labels: [String: Int]) {
        var steps: [XMLElement] = []
        var labels: [String: Int] = [:]
        for element in elements {
            switch element.name {
            case "label":
                guard let id = element["id"] else { throw ScenarioError(file, element.line, "<label> needs id=…") }
                guard labels[id] == nil else { throw ScenarioError(file, element.line, "there are two labels \(id)") }
                labels[id] = steps.count
            case "send", "recv", "pause", "timewait", "nop", "sendCmd", "recvCmd": steps.append(element)
            case "init", "Global", "User", "Reference", "ResponseTimeRepartition", "CallLengthRepartition", "DefaultMessage":
                break
            default: throw ScenarioError(file, element.line, "<\(element.name)> is no element of a scenario")
            }
        }
        return (steps, labels)
    }

    private mutating func declaration(_ element: XMLElement) throws(ScenarioError) {
        switch element.name {
        case "Global", "User", "Reference":
            guard let list = element["variables"] else {
                throw ScenarioError(file, element.line, "<\(element.name)> needs variables=…")
            }
            for name in Self.names(list) {
                switch element.name {
                case "Global": parts.variables.declare(name, .global, line: element.line)
                case "User": parts.variables.declare(name, .user, line: element.line)
                default: referenced.insert(name)
                }
            }
        case "ResponseTimeRepartition": parts.timerBorders = try borders(element)
        case "CallLengthRepartition": parts.lengthBorders = try borders(element)
        case "DefaultMessage":
            guard let id = element["id"], let message = DefaultMessage(rawValue: id) else {
                let known = DefaultMessage.allCases.map(\.rawValue).joined(separator: ", ")
                throw ScenarioError(file, element.line, "<DefaultMessage> needs id=…, one of \(known)")
            }
            parts.defaults[message] = try texts.message(element.text, line: element.line, &parts.variables)
        default: break
        }
    }

    private func borders(_ element: XMLElement) throws(ScenarioError) -> [Int] {
        var result: [Int] = []
        for part in Self.names(element["value"] ?? "") {
            guard let border = Int(part) else {
                throw ScenarioError(file, element.line, "<\(element.name)>: \"\(part)\" is no whole number of milliseconds")
            }
            result.append(border)
        }
        return result
    }

    /// A run of `recv` ends with one that must come.
    private mutating func checkOptionalRuns() throws(ScenarioError) {
        for (index, step) in parts.steps.enumerated() where step.common.isOptional && !step.common.isGlobal {
            let following = parts.steps[(index + 1)...].first { !$0.common.isOptional }
            var isWaiting = false
            switch following?.kind {
            case .receive, .receiveCommand: isWaiting = true
            default: break
            }
            if !isWaiting {
                throw ScenarioError(file, step.line, "an optional <recv> must be followed by one that is not optional")
            }
        }
    }

    // MARK: Steps

    private mutating func step(_ element: XMLElement, labels: [String: Int], count: Int) throws(ScenarioError) -> Step {
        var common = try self.common(element, labels: labels, count: count)
        let kind: Step.Kind
        var own: [String]
        switch element.name {
        case "send":
            own = ["retrans", "start_txn", "ack_txn", "rtp_echo"]
            guard !element.text.allSatisfy({ $0 <= 32 }) else {
                throw ScenarioError(file, element.line, "<send> has no message; write it in <![CDATA[ … ]]>")
            }
            noteMethod(element.text)
            let template = try texts.message(element.text, line: element.line, &parts.variables)
            let retransmission = try number(element, "retrans")
            kind = .send(
                Step.Sending(
                    template, retransmission: retransmission == 0 ? nil : retransmission,
                    startsTransaction: element["start_txn"].map { transaction($0) },
                    acknowledges: element["ack_txn"].map { transaction($0) }))
        case "recv":
            own = ["response", "request", "optional", "regexp_match", "response_txn", "rrs", "auth", "advance_state", "ignoresdp"]
            kind = .receive(try receiving(element))
            try optional(element, &common)
        case "pause", "timewait":
            own = ["milliseconds", "variable", "sanity_check", "distribution"] + DistributionReader.parameters
            let length = try pause(element)
            if element.name == "pause" {
                kind = .pause(length)
            } else {
                guard case .distribution(.fixed(let milliseconds)) = length else {
                    throw ScenarioError(file, element.line, "<timewait> needs milliseconds=…")
                }
                kind = .timewait(milliseconds: milliseconds)
            }
        case "sendCmd":
            own = ["dest"]
            kind = .sendCommand(
                try texts.message(element.text, line: element.line, &parts.variables), destination: element["dest"])
        case "recvCmd":
            own = ["src", "optional"]
            kind = .receiveCommand(source: element["src"])
            try optional(element, &common)
        default:
            own = []
            kind = .nop
        }
        for attribute in element.attributes where !own.contains(attribute.name) && !Self.common.contains(attribute.name) {
            parts.warnings.append(
                "\(file):\(element.line): <\(element.name)> has no attribute \(attribute.name); it has no effect")
        }
        var actions: [Action] = []
        for child in element.children {
            guard child.name == "action" else {
                throw ScenarioError(file, child.line, "<\(child.name)> cannot stand in <\(element.name)>")
            }
            for action in child.children { actions += try self.actions(action) }
        }
        return Step(kind, common, actions: actions, line: element.line)
    }

    private mutating func common(
        _ element: XMLElement, labels: [String: Int], count: Int
    ) throws(ScenarioError) -> Step.Common {
        var common = Step.Common()
        common.startTimers = timers(element["start_rtd"])
        common.endTimers = timers(element["rtd"])
        common.repeatsTimer = element["repeat_rtd"] == "true"
        if let name = element["counter"], name != "false" {
            common.counter = Self.place(name == "true" ? "1" : name, in: &parts.counters)
        }
        func label(_ name: String) throws(ScenarioError) -> Int {
            guard let index = labels[name] else {
                throw ScenarioError(
                    file, element.line, "there is no label \(name); write <label id=\"\(name)\"/> before the step to go to")
            }
            return index
        }
        common.next = try element["next"].map { text throws(ScenarioError) in try label(text) }
        common.timeoutNext = try element["ontimeout"].map { text throws(ScenarioError) in try label(text) }
        common.test = element["test"].map { parts.variables.use(Self.bare($0), line: element.line) }
        common.condition = element["condexec"].map { parts.variables.use(Self.bare($0), line: element.line) }
        common.isConditionInverse = element["condexec_inverse"] == "true"
        if let chance = try number(element, "chance") {
            guard (0...1).contains(chance) else { throw ScenarioError(file, element.line, "chance is a number from 0 to 1") }
            common.chance = chance
        }
        common.timeout = try number(element, "timeout")
        common.loss = try number(element, "lost")
        common.hasBlankLine = element["crlf"] == "true"
        common.isHidden = element["hide"] == "true"
        common.display = element["display"]
        return common
    }

    private mutating func receiving(_ element: XMLElement) throws(ScenarioError) -> Step.Receiving {
        let isPattern = element["regexp_match"] == "true"
        let expected: Step.Receiving.Expected
        switch (element["response"], element["request"]) {
        case (let status?, nil):
            if isPattern {
                expected = .statusPattern(try pattern(status, element))
            } else {
                guard let number = Int(status) else {
                    throw ScenarioError(file, element.line, "response=\"\(status)\" is no status")
                }
                expected = .status(number)
            }
        case (nil, let method?):
            expected = isPattern ? .methodPattern(try pattern(method, element)) : .method(Array(method.utf8))
        default: throw ScenarioError(file, element.line, "<recv> needs either response=… or request=…")
        }
        let result = Step.Receiving(expected)
        result.keepsRoutes = element["rrs"] == "true"
        result.keepsChallenge = element["auth"] == "true"
        result.advances = element["advance_state"] != "false"
        result.ignoresBody = element["ignoresdp"] == "true"
        result.methods = parts.sentMethods ?? []
        if let name = element["response_txn"] {
            guard element["response"] != nil else { throw ScenarioError(file, element.line, "response_txn is for response=…") }
            result.transaction = transaction(name)
        }
        return result
    }

    /// The first word of a message, when it is a request.
    private mutating func noteMethod(_ message: [UInt8]) {
        let word = message.drop { $0 <= 32 }.prefix { $0 > 32 }
        guard !word.starts(with: Array("SIP/".utf8)) else { return }
        if word.contains(UInt8(ascii: "[")) { parts.sentMethods = nil } else { parts.sentMethods?.append(Array(word)) }
    }

    private func optional(_ element: XMLElement, _ common: inout Step.Common) throws(ScenarioError) {
        switch element["optional"] {
        case nil, "false": break
        case "true": common.isOptional = true
        case "global":
            common.isOptional = true
            common.isGlobal = true
        case let other?: throw ScenarioError(file, element.line, "optional is true, false or global, not \"\(other)\"")
        }
    }

    private mutating func pause(_ element: XMLElement) throws(ScenarioError) -> Step.PauseLength {
        if let name = element["variable"] { return .variable(parts.variables.use(Self.bare(name), line: element.line)) }
        if let milliseconds = try number(element, "milliseconds") { return .distribution(.fixed(milliseconds)) }
        guard let distribution = try DistributionReader.read(element, file: file) else { return .standard }
        return .distribution(distribution)
    }

    // MARK: Parts

    func number(_ element: XMLElement, _ attribute: String) throws(ScenarioError) -> Double? {
        guard let text = element[attribute] else { return nil }
        guard let value = Double(text.trimmingCharacters(in: .whitespaces)) else {
            throw ScenarioError(file, element.line, "\(attribute)=\"\(text)\" is no number")
        }
        return value
    }

    func pattern(_ source: String, _ element: XMLElement) throws(ScenarioError) -> Pattern {
        do throws(Pattern.Problem) {
            return try Pattern(source)
        } catch {
            throw ScenarioError(file, element.line, "\"\(source)\" is no regular expression: \(error.reason)")
        }
    }

    private mutating func transaction(_ name: String) -> Int { Self.place(name, in: &parts.transactions) }

    private mutating func timers(_ text: String?) -> [Int] {
        Self.names(text ?? "").filter { $0 != "false" }.map { Self.place($0 == "true" ? "1" : $0, in: &parts.timers) }
    }

    private static func place(_ name: String, in names: inout [String]) -> Int {
        if let index = names.firstIndex(of: name) { return index }
        names.append(name)
        return names.count - 1
    }

    static func names(_ list: String) -> [String] {
        list.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    static func bare(_ name: String) -> String {
        let trimmed = name.trimmingCharacters(in: .whitespaces)
        return trimmed.hasPrefix("$") ? String(trimmed.dropFirst()) : trimmed
    }
}
