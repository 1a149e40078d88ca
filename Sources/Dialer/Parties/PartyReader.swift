// Reads `parties` of a campaign's file.

import FlowEngine

struct PartyReader {
    let sink: DiagnosticSink
    let folder: String
    /// Reads a template over `target`.
    let template: (YAMLNode, _ what: String) -> Template?

    /// The parties, in the order of the file.
    func parties(_ map: MappingReader) -> [PartyPlan] {
        let plans = map.entries.compactMap { pair -> PartyPlan? in
            check(name: pair.key.text, at: pair.key.place)
            return MappingReader(pair.value, "the party `\(pair.key.text)`", sink).flatMap { party(pair.key.text, $0) }
        }
        if map.entries.isEmpty {
            sink.error(at: map.place, "`parties` names nobody", mend: "write `agent: { number: \"200\", flow: agent.yaml }`")
        }
        return plans
    }

    /// It becomes part of file names, and `caller` is the other half.
    private func check(name: String, at place: SourcePlace) {
        if name == "caller" {
            sink.error(at: place, "the caller is `caller` already", mend: "choose another name for who is called")
        } else if name.isEmpty || !name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }) {
            sink.error(at: place, "a party's name has letters, digits, - and _", mend: "write `agent:`")
        } else if name.count > Self.longestName {
            sink.error(at: place, "a party's name has at most \(Self.longestName) signs", mend: "write `agent:`")
        }
    }

    private static let longestName = 64

    private func party(_ name: String, _ map: MappingReader) -> PartyPlan? {
        let calls = map.choice("called", PartyPlan.Calls.self) ?? .once
        let flow =
            calls == .never ? map.string("flow") : map.requiredString("flow", mend: "name what it does: `flow: agent.yaml`")
        var plan = PartyPlan(name: name, flow: flow.map { PathConfinement.join(folder, $0) })
        plan.calls = calls
        plan.number = map.node("number").flatMap { template($0, "`number`") }
        plan.line = map.string("line")
        if let within = map.duration("within") {
            plan.within = within
            if within <= .zero { sink.error(at: map.place(of: "within"), "`within` is longer than nothing", mend: "write 10s") }
        }
        if let vars = map.mapping("vars") {
            plan.vars = vars.entries.compactMap { pair in
                template(pair.value, "`\(pair.key.text)`").map { (pair.key.text, $0) }
            }
        }
        if let words = map.strings("agree") { plan.agrees = agreements(words, at: map.place(of: "agree")) }
        map.finish()
        return flow == nil && calls != .never ? nil : plan
    }

    private func agreements(_ words: [String], at place: SourcePlace) -> Set<PartyPlan.Agreement> {
        var all: Set<PartyPlan.Agreement> = []
        for word in words {
            if let agreement = PartyPlan.Agreement(rawValue: word) {
                all.insert(agreement)
            } else {
                NodeRead.unknown(
                    "value", word, of: "`agree`", at: place, known: PartyPlan.Agreement.allCases.map(\.rawValue), sink)
            }
        }
        return all
    }

    /// A header of our own, or one that the field has for it.
    func mark(_ node: YAMLNode) -> PartyMark? {
        guard let name = NodeRead.string(node, "`mark`", sink) else { return nil }
        let isToken = !name.isEmpty && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        guard isToken, name.lowercased().hasPrefix("x-") || name.lowercased() == "user-to-user" else {
            sink.error(
                at: node.place, "`mark` is a header such as X-Test or User-to-User, not `\(name)`",
                mend: "leave it out for \(PartyMark.usual.header)")
            return nil
        }
        return PartyMark(header: name)
    }

    /// What tells parties apart: without a mark, the number or the line alone.
    func check(_ parties: [PartyPlan], at place: SourcePlace) {
        for party in parties where parties.count > 1 && party.number == nil && party.line == nil {
            sink.error(
                at: place, "nothing tells a call to `\(party.name)` from one to the others",
                mend: "give each party a `number` or a `line`")
        }
    }
}
