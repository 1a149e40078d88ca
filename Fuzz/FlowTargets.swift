// Flows as a whole (without files) and their expressions.

import FlowEngine

/// Says of every prompt that it is there: the fuzzer opens no files.
private struct NoFiles: PromptInspector {
    func inspect(path: String) -> PromptInfo { .playable(nil) }
}

/// Those of YAML 1.1.
private let lineBreaks: Set<Character> = ["\n", "\r", "\r\n", "\u{85}", "\u{2028}", "\u{2029}"]

func attackFlow(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return }
    var options = FlowLoadOptions()
    options.prompts = NoFiles()
    let result = FlowLoader.load(text: text, file: "/nowhere/attacked.yaml", options: options)
    // Swift takes CR LF for one sign, as YAML does.
    let lines = 1 + text.count { lineBreaks.contains($0) }
    var errors = 0
    for diagnostic in result.diagnostics {
        if diagnostic.severity == .error { errors += 1 }
        precondition(diagnostic.place.line >= 1 && diagnostic.place.column >= 1, "a finding has its place")
        precondition(diagnostic.place.line <= lines + 1, "inside the file")
    }
    precondition((result.flow == nil) == (errors > 0), "a flow or an error")
}

private let scope = MapScope([
    "call": ["from": "+15550100", "number": 7],
    "digits": .string("12#"), "n": .int(3), "x": .double(1.5), "l": .list([.int(1), .string("b"), .null]), "b": .bool(true)
])

func attackExpression(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return }
    let declared: DeclaredNames = ["digits": .string, "n": .int, "x": .double, "l": .list(.any), "b": .bool, "call": .any]
    if let expression = try? Expression.parse(text) {
        use(expression.check(names: declared))
        use(expression.type(names: declared))
        let value = try? expression.evaluate(in: scope)
        use(value?.text)
        use(value?.json)
        // The normal form may be longer or deeper in the text than what is allowed.
        do {
            let again = try Expression.parse(expression.printed)
            precondition(again.printed == expression.printed, "the normal form is its own")
            precondition(again == expression, "what is printed parses to the same")
        } catch {
            precondition(error.kind == .limit, "what is printed parses")
        }
    }
    if let template = try? Template.parse(text) {
        use(template.check(names: declared))
        use(try? template.text(in: scope))
    }
}
