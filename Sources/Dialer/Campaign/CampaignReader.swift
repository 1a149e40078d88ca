// Reads a campaign's file: every mistake with its place and its mend, in one run, as flows are read.

import CallEngine
package import FlowEngine
import Foundation
import Store

package enum CampaignReader {
    package struct Result: Sendable {
        /// nil when the file has errors.
        package var plan: CampaignPlan?
        /// In the order of the file.
        package var diagnostics: [Diagnostic]
    }

    /// Reads and checks the file. Paths in it are relative to its folder. The list and the flow are not opened.
    package static func read(path: String) -> Result {
        let start = SourcePlace(file: path, line: 1, column: 1)
        guard let data = FileManager.default.contents(atPath: path) else {
            let why = FileManager.default.fileExists(atPath: path) ? "the file cannot be read" : "there is no such file"
            return Result(plan: nil, diagnostics: [Diagnostic(.error, at: start, why)])
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            return Result(
                plan: nil,
                diagnostics: [Diagnostic(.error, at: start, "not readable as UTF-8 text", mend: "save the file as UTF-8")])
        }
        return read(text: text, file: path)
    }

    /// As above, for a text that stands in `file`.
    package static func read(text: String, file: String) -> Result {
        let sink = DiagnosticSink()
        guard let root = YAML.parse(text, file: file, into: sink),
            let reader = MappingReader(root, "the campaign", sink)
        else { return Result(plan: nil, diagnostics: sink.sorted) }
        let plan = FileReader(reader, sink: sink, folder: PathConfinement.folder(of: file)).plan(file)
        return Result(plan: sink.hasErrors ? nil : plan, diagnostics: sink.sorted)
    }

    /// The names that expressions of a campaign may read.
    private static let names: DeclaredNames = ["target": .any, "campaign": .any, "now": .timestamp]

    /// Reads a template over `target`; a mistake in it is told by `problem`.
    package static func template(_ text: String, problem: (String) -> Void) -> Template? {
        do throws(ExpressionError) {
            let template = try Template.parse(text)
            for mistake in template.check(names: names, wanting: .any) { problem(mistake.message) }
            return template
        } catch {
            problem(error.message)
            return nil
        }
    }
}

private struct FileReader {
    let reader: MappingReader
    let sink: DiagnosticSink
    let folder: String

    init(_ reader: MappingReader, sink: DiagnosticSink, folder: String) {
        self.reader = reader
        self.sink = sink
        self.folder = folder
    }

    func plan(_ file: String) -> CampaignPlan? {
        let name =
            reader.string("campaign") ?? CampaignPlan.name(of: file)
        _ = reader.string("description")
        let list = reader.required("targets", mend: "name a CSV file: `targets: numbers.csv`").flatMap(list)
        let flow = reader.requiredString("flow", mend: "name a flow: `flow: flows/caller.yaml`")
        let to = reader.required("to", mend: "write `to: \"sip:${target.number}@host\"`").flatMap { template($0, "`to`") }
        let concurrency = reader.int("concurrency", in: 1...100_000) ?? 10
        let callerID = reader.node("caller-id").flatMap { template($0, "`caller-id`") }
        let line = reader.string("line")
        let rate = reader.double("rate", in: 0.001...100_000)
        let hours = reader.mapping("hours").flatMap(hours)
        let attempts = reader.mapping("attempts").map(attempts)
        let limits = reader.node("limits").map { NodeRead.list($0).compactMap(limit) }
        let stop = reader.mapping("stop").flatMap(stop)
        let vars = reader.mapping("vars").map(vars)
        let partyReader = PartyReader(sink: sink, folder: folder, template: template)
        let parties = reader.mapping("parties").map(partyReader.parties)
        if let parties { partyReader.check(parties, at: reader.place(of: "parties")) }
        let mark = reader.node("mark").flatMap(partyReader.mark)
        if reader.has("mark"), !reader.has("parties") {
            sink.error(
                at: reader.place(of: "mark"), "without `parties` no call comes back that `mark` could tell",
                mend: "add `parties`, or remove it")
        }
        reader.finish()
        guard let list, let flow, let to else { return nil }
        var plan = CampaignPlan(
            name: name, list: list, flow: PathConfinement.join(folder, flow), to: to,
            concurrency: concurrency)
        plan.callerID = callerID
        plan.line = line
        plan.rate = rate
        plan.hours = hours
        plan.attempts = attempts ?? AttemptRules()
        plan.limits = limits ?? []
        plan.stop = stop
        plan.vars = vars ?? []
        plan.parties = parties ?? []
        plan.mark = mark ?? .usual
        return plan
    }

    /// A file by its name, or a database with a query.
    private func list(_ node: YAMLNode) -> ListSource? {
        guard case .mapping = node.content else {
            return NodeRead.string(node, "`targets`", sink).map { .file(PathConfinement.join(folder, $0)) }
        }
        guard let map = MappingReader(node, "`targets`", sink) else { return nil }
        let store = map.requiredString(
            "store", mend: "write `store: sqlite:customers.db` or `store: postgresql://user@host/database`")
        let query = map.requiredString("query", mend: "write `query: \"SELECT * FROM customers ORDER BY id\"`")
        map.finish()
        guard let store, let query else { return nil }
        do throws(StoreError) {
            switch try StorePlace(store) {
            case .sqlite(let path): return .query(query, of: .sqlite(PathConfinement.join(folder, path)))
            case .postgresql(let address):
                guard address.hasPassword else { return .query(query, of: .postgresql(address)) }
                sink.error(
                    at: map.place(of: "store"), "a password has no place in a campaign's file",
                    mend: "leave it to PGPASSWORD or ~/.pgpass")
            }
        } catch {
            sink.error(at: map.place(of: "store"), "`store`: \(error)")
        }
        return nil
    }

    private func template(_ node: YAMLNode, _ what: String) -> Template? {
        guard let text = NodeRead.string(node, what, sink) else { return nil }
        return CampaignReader.template(text) { sink.error(at: node.place, "\(what): \($0)") }
    }

    private func hours(_ map: MappingReader) -> CallingHours? {
        func minutes(_ key: String, _ usual: Int) -> Int {
            guard let text = map.string(key) else { return usual }
            if let minutes = CallingHours.minutes(text) { return minutes }
            sink.error(at: map.place(of: key), "`\(key)` is a time such as \"09:30\", not \(text)")
            return usual
        }
        let (from, until) = (minutes("from", 0), minutes("until", 24 * 60))
        var days = Set(1...7)
        if let words = map.strings("days") {
            days = []
            for word in words {
                if let index = CallingHours.names.firstIndex(of: word) {
                    days.insert(index + 1)
                } else {
                    NodeRead.unknown("day", word, of: "`days`", at: map.place(of: "days"), known: CallingHours.names, sink)
                }
            }
        }
        let zone = map.string("zone")
        map.finish()
        guard let hours = CallingHours(from: from, until: until, days: days, zone: zone) else {
            sink.error(
                at: map.place(of: "zone"), "there is no time zone \(zone ?? "")", mend: "write a name such as Europe/Berlin")
            return nil
        }
        return hours
    }

    private func attempts(_ map: MappingReader) -> AttemptRules {
        var rules = AttemptRules()
        rules.most = map.int("most", in: 1...1000) ?? rules.most
        rules.wait = map.duration("wait") ?? rules.wait
        rules.factor = map.double("factor", in: 1...100) ?? rules.factor
        if let after = map.mapping("after") {
            for pair in after.entries {
                guard let cause = CallEnd.Cause(rawValue: pair.key.text) else {
                    NodeRead.unknown(
                        "cause", pair.key.text, of: "`after`", at: pair.key.place, known: CallEnd.Cause.allCases.map(\.rawValue),
                        sink)
                    continue
                }
                rules.after[cause] = NodeRead.duration(pair.value, "`\(pair.key.text)`", sink)
            }
        }
        if rules.most == 1, map.has("after") || map.has("wait") {
            sink.warning(at: map.place, "without `most` every target is called once", mend: "write `most: 3`")
        }
        map.finish()
        return rules
    }

    private func limit(_ node: YAMLNode) -> DestinationLimit? {
        guard let map = MappingReader(node, "a limit", sink) else { return nil }
        let text = map.requiredString("to", mend: "a pattern such as /^sip:\\+49/")
        let concurrency = map.int("concurrency", in: 1...100_000)
        let rate = map.double("rate", in: 0.001...100_000)
        map.finish()
        if concurrency == nil, rate == nil {
            sink.error(at: node.place, "a limit limits nothing", mend: "write `concurrency` or `rate`")
        }
        guard let text else { return nil }
        guard text.count > 2, text.hasPrefix("/"), text.hasSuffix("/") else {
            sink.error(at: map.place(of: "to"), "`to` is a pattern between slashes", mend: "write \"/^sip:\\\\+49/\"")
            return nil
        }
        do throws(ExpressionError) {
            return DestinationLimit(
                pattern: try Pattern(String(text.dropFirst().dropLast())), concurrency: concurrency, rate: rate)
        } catch {
            sink.error(at: map.place(of: "to"), error.message)
            return nil
        }
    }

    private func stop(_ map: MappingReader) -> StopRule? {
        let after = map.int("after", in: 1...1_000_000_000) ?? 20
        let text = map.requiredString("failure-rate", mend: "write `failure-rate: 20%`")
        map.finish()
        guard let text else { return nil }
        guard let share = Percent.share(text) else {
            sink.error(at: map.place(of: "failure-rate"), "`failure-rate` is a share such as 20%, not \(text)")
            return nil
        }
        return StopRule(failureRate: share, after: after)
    }

    private func vars(_ map: MappingReader) -> [(name: String, value: Template)] {
        map.entries.compactMap { pair in
            template(pair.value, "`\(pair.key.text)`").map { (pair.key.text, $0) }
        }
    }
}
