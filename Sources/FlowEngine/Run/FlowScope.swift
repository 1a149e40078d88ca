// The values that a flow's expressions read, and the evaluation of texts, lengths and data.

import Basics
import CallEngine
import Reactor

/// A flow at work with its variables; `run` puts another one in its place for a while. Sections beside the flow share it.
final class FlowFrame {
    var flow: Flow
    var variables: [String: Value] = [:]
    var secretNames: Set<String> = []
    var isSubflow = false

    init(flow: Flow, isSubflow: Bool = false) {
        self.flow = flow
        self.isSubflow = isSubflow
        for name in flow.names { variables[name] = .null }
    }

    var publicVariables: [String: Value] { variables.filter { !secretNames.contains($0.key) } }
}

extension FlowRun: Scope {
    package func value(named name: String) -> Value? {
        if let value = frame.variables[name] { return value }
        switch name {
        case "call": return root.call.info.value(state: root.call.state, now: loop.now)
        case "result": return lastResult
        case "recording": return root.newestRecording?.told ?? .null
        case "campaign": return environment.campaign
        case "target": return environment.target
        case "env":
            var map = ValueMap()
            for (name, value) in environment.variables.sorted(by: { $0.key < $1.key }) { map[name] = .string(value) }
            return .map(map)
        case "now":
            return .timestamp(Timestamp(secondsSince1970: call.info.startedAt + (loop.now - call.info.started).seconds))
        default: return nil
        }
    }

    /// Gives `vars` of the frame's flow their first values; `arguments` win over them.
    func beginFrame(arguments: [String: Value]) throws {
        for (name, data) in frame.flow.variables {
            let value = try arguments[name] ?? value(data)
            frame.variables[name] = value
        }
        for (name, value) in arguments { frame.variables[name] = value }
    }

    /// Gives a variable its value.
    package func set(_ name: String, to value: Value, secret: Bool) {
        frame.variables[name] = value
        if secret { frame.secretNames.insert(name) } else { frame.secretNames.remove(name) }
    }

    /// A variable's value now; for tests of flows.
    package func variable(_ name: String) -> Value? { frame.variables[name] }

    // MARK: Evaluation

    package func text(_ text: FlowText) throws(FlowError) -> String {
        do { return try text.template.text(in: self) } catch { throw failure(error, text.template.names, at: text.place) }
    }

    /// The text for logs and events: what is secret reads `***`.
    package func shown(_ text: FlowText) throws(FlowError) -> String {
        guard isSecret(text) else { return try self.text(text) }
        do { return try text.template.text(in: MaskedScope(run: self)) } catch { return "***" }
    }

    package func value(_ text: FlowText) throws(FlowError) -> Value {
        do { return try text.template.evaluate(in: self) } catch { throw failure(error, text.template.names, at: text.place) }
    }

    package func value(_ data: FlowData) throws(FlowError) -> Value {
        switch data {
        case .fixed(let value): return value
        case .text(let text): return try value(text)
        case .list(let items):
            var values: [Value] = []
            for item in items { values.append(try value(item)) }
            return .list(values)
        case .map(let pairs):
            var map = ValueMap()
            for pair in pairs { map[pair.key] = try value(pair.value) }
            return .map(map)
        }
    }

    package func isTrue(_ condition: FlowCondition) throws(FlowError) -> Bool {
        do { return try condition.expression.isTrue(in: self) } catch {
            var names: Set<String> = []
            condition.expression.root.collectNames(into: &names)
            throw failure(error, names, at: condition.place)
        }
    }

    package func length(_ length: FlowLength) throws(FlowError) -> Duration {
        switch length {
        case .fixed(let duration): return duration
        case .text(let text):
            switch try value(text) {
            case .duration(let duration) where duration >= .zero: return duration
            case .string(let string):
                do { return try FlowDuration.parse(string) } catch { throw FlowError(error.message, at: text.place) }
            case let other: throw FlowError("a duration such as 5s is needed here, not \(other.type.word)", at: text.place)
            }
        }
    }

    package func length(_ length: FlowLength?, default other: Duration) throws(FlowError) -> Duration {
        guard let length else { return other }
        return try self.length(length)
    }

    package func isSecret(_ text: FlowText) -> Bool {
        let names = text.template.names
        return !names.isDisjoint(with: frame.secretNames) || lastResultIsSecret && names.contains("result")
    }

    package func isSecret(_ data: FlowData) -> Bool { data.texts.contains { isSecret($0) } }

    /// The mistake with the values that led to it.
    private func failure(_ error: ExpressionError, _ names: Set<String>, at place: SourcePlace) -> FlowError {
        // The words of the mistake may quote a value.
        if !names.isDisjoint(with: frame.secretNames) || lastResultIsSecret && names.contains("result") {
            return FlowError("an expression over secret values failed (\(error.kind.rawValue))", at: place)
        }
        let masked = MaskedScope(run: self)
        let values = names.subtracting(["call", "env", "now"]).sorted().prefix(6).compactMap { name in
            masked.value(named: name).map { "\(name) = \($0.json.prefix(60))" }
        }
        return FlowError(values.isEmpty ? error.message : "\(error.message) (\(values.joined(separator: ", ")))", at: place)
    }
}

/// The scope for logs and events: secret values read `***`.
struct MaskedScope: Scope {
    let run: FlowRun

    func value(named name: String) -> Value? {
        if run.frame.secretNames.contains(name) { return "***" }
        if name == "result", run.lastResultIsSecret {
            guard var map = run.lastResult.asMap else { return "***" }
            for hidden in ["value", "keys", "ignored"] where map[hidden] != nil { map[hidden] = "***" }
            return .map(map)
        }
        return run.value(named: name)
    }
}

extension CallParty {
    var fields: ValueMap {
        var fields = ValueMap()
        for (name, value) in [("uri", uri), ("user", user), ("host", host), ("display", display)] {
            fields[name] = .string(value)
        }
        return fields
    }
    var value: Value { .map(fields) }
}

extension CallInfo {
    /// `call` in expressions.
    func value(state: CallState, now: Instant) -> Value {
        var fields = ValueMap()
        // Each under its name as it was written and in lower case; of several the first counts.
        for header in headers {
            if fields[header.name] == nil { fields[header.name] = .string(header.value) }
            let lower = header.name.lowercased()
            if fields[lower] == nil { fields[lower] = .string(header.value) }
        }
        let diverted = diversions.map { diversion in
            var fields = diversion.party.fields
            fields["reason"] = .string(diversion.reason)
            return Value.map(fields)
        }
        return .object([
            "identity": (identity ?? CallParty(uri: "")).value, "privacy": .string(privacy), "diversions": .list(diverted),
            "texts": .list(texts.map { .string($0) }),
            "id": .string(id), "direction": .string(direction.rawValue), "from": from.value, "to": to.value,
            "headers": .map(fields), "line": .string(line), "user": .string(user),
            "started": .timestamp(Timestamp(secondsSince1970: startedAt)),
            "duration": .duration(.milliseconds(((ended ?? now) - started).nanoseconds / 1_000_000)),
            "state": .string(state.word), "codec": .string(codec),
            "status": .int(Int64(sipStatus)), "reason": .string(sipReason)
        ])
    }

    /// The types of `call`'s fields, for the checker.
    static let staticType: StaticType = {
        let fields: [String: StaticType] = ["uri": .string, "user": .string, "host": .string, "display": .string]
        let party = StaticType.record(fields)
        return .record([
            "identity": party, "privacy": .string,
            "diversions": .list(.record(fields.merging(["reason": .string]) { $1 })), "texts": .list(.string),
            "id": .string, "direction": .string, "from": party, "to": party, "headers": .map(.string), "line": .string,
            "user": .string,
            "started": .timestamp, "duration": .duration, "state": .string, "codec": .string, "status": .int, "reason": .string
        ])
    }()
}

extension CallState {
    var word: String {
        switch self {
        case .new: "new"
        case .ringing: "ringing"
        case .early: "early"
        case .answered: "answered"
        case .ended: "ended"
        }
    }
}
