// `routes`: which flow a call gets. The first line that matches wins.

import FlowEngine

struct RouteSchema {
    let schema: ConfigurationSchema
    let lines: [String]
    let allow: Allowance
    let hasRegistrar: Bool
    private var sink: DiagnosticSink { schema.sink }

    init(schema: ConfigurationSchema, lines: [String], allow: Allowance, hasRegistrar: Bool) {
        self.schema = schema
        self.lines = lines
        self.allow = allow
        self.hasRegistrar = hasRegistrar
    }

    func read(_ top: FieldReader) -> [Route] {
        guard let items = top.items("routes") else { return [] }
        var result: [Route] = []
        for (index, item) in items.enumerated() {
            if let catchAll = result.first(where: { $0.to == nil && $0.line == nil }) {
                sink.warning(
                    at: item.place, "this route is never reached: the one in line \(catchAll.place.line) takes every call")
            }
            if let route = route(item, index) { result.append(route) }
        }
        return result
    }

    private func route(_ node: YAMLNode, _ index: Int) -> Route? {
        let path = "routes.\(index)"
        guard
            let fields = FieldReader(
                node, path: path, known: ["to", "line", "flow", "bridge", "vars"], sources: schema.sources, sink: sink)
        else { return nil }
        guard let target = target(fields) else { return nil }
        var result = Route(target: target, place: node.place)
        if let to = fields.text("to") {
            guard let number = schema.number(to) else { return nil }
            result.to = number
        }
        result.line = schema.lineName(fields, among: lines)
        if let vars = fields.field("vars") {
            if case .mapping(let pairs) = vars.content {
                for pair in pairs { result.vars[pair.key.text] = value(of: pair.value, fields, "vars.\(pair.key.text)") }
            } else {
                sink.error(at: vars.place, "`\(path).vars` is a mapping of names to values, not \(vars.kind)")
            }
        }
        return result
    }

    private func target(_ fields: FieldReader) -> Route.Target? {
        switch (fields.text("flow"), fields.text("bridge", keepsExpressions: true)) {
        case (let flow?, nil):
            let path = schema.path(flow.text)
            if !schema.sources.fileExists(path) { sink.error(at: flow.place, "there is no flow \(path)") }
            return .flow(path)
        case (nil, let bridge?):
            if bridge.text.hasPrefix("user:"), !hasRegistrar {
                sink.error(
                    at: bridge.place, "\(bridge.shown): nobody can log in here", mend: "add a `registrar` with this user")
                return nil
            }
            if !bridge.text.contains("${"), !allow.permitsBridge(to: bridge.text) {
                sink.error(at: bridge.place, "`allow.bridge` does not permit \(bridge.shown)", mend: "add it there")
            }
            return .bridge(bridge.text)
        case (nil, nil):
            if fields.node["flow"] == nil, fields.node["bridge"] == nil {
                sink.error(at: fields.node.place, "this route has neither `flow` nor `bridge`")
            }
            return nil
        case (_?, let bridge?):
            sink.error(at: bridge.place, "a route has `flow` or `bridge`, not both")
            return nil
        }
    }

    /// A value of a flow, with text from outside put in.
    private func value(of node: YAMLNode, _ fields: FieldReader, _ name: String) -> Value {
        switch node.content {
        case .sequence(let items): return .list(items.map { value(of: $0, fields, name) })
        case .mapping(let pairs):
            var map = ValueMap()
            for pair in pairs { map[pair.key.text] = value(of: pair.value, fields, "\(name).\(pair.key.text)") }
            return .map(map)
        case .scalar(let scalar):
            switch scalar.value {
            case .null: return .null
            case .bool(let flag): return .bool(flag)
            case .int(let number): return .int(number)
            case .float(let number): return .double(number)
            case .string: return fields.text(of: node, named: fields.full(name)).map { .string($0.text) } ?? .null
            }
        }
    }
}

extension ConfigurationSchema {
    /// `line`: one of `lines`.
    func lineName(_ fields: FieldReader, among lines: [String]) -> String? {
        guard let line = fields.text("line") else { return nil }
        if !lines.contains(line.text) {
            let near = NearestWord.find(line.text, in: lines)
            sink.error(
                at: line.place, "there is no line \(line.shown)",
                mend: near.map { "did you mean `\($0)`?" }
                    ?? (lines.isEmpty ? "name it in `lines`" : "the lines are: \(lines.joined(separator: ", "))"))
        }
        return line.text
    }

    /// A number, or `/pattern/`.
    func number(_ to: LocatedText) -> Route.Number? {
        guard to.text.hasPrefix("/") else { return .exactly(to.text) }
        guard to.text.count > 2, to.text.hasSuffix("/") else {
            sink.error(at: to.place, "\(to.shown) begins as a pattern", mend: "a pattern stands between two `/`")
            return nil
        }
        do {
            return .pattern(try Pattern(String(to.text.dropFirst().dropLast())))
        } catch {
            sink.error(at: to.place, "\(to.shown) cannot be used: \(error.message)")
            return nil
        }
    }
}
