// The parameters of `collect` and `menu`: read from the flow, checked against each other, made into CollectSettings for a run.

import CallEngine

package struct CollectParameters: Sendable {
    struct Choice: Sendable {
        let key: String
        /// nil: the key itself.
        let pattern: Pattern?
        let block: Block
        let place: SourcePlace

        func takes(_ entry: String) -> Bool { pattern.map { $0.matches(entry) } ?? (key == entry) }
    }

    static let outcomes = ["complete", "finished", "timeout", "silence", "invalid"]

    var settings = CollectSettings()
    var prompts: [CollectSettings.Prompt: [Sound]] = [:]
    var choices: [Choice] = []
    private var pattern: Pattern?
    private var firstDigit: FlowLength?
    private var between: FlowLength?
    private var within: FlowLength?
    private var isSecret = false

    /// `menu`: keys that stand beside the settings are choices.
    init?(_ step: StepReader, isMenu: Bool) {
        guard step.argument != nil, let map = step.open() else {
            step.wrong("a mapping of its settings")
            return nil
        }
        readPrompts(map, step, isMenu: isMenu)
        readTimers(map, step)
        readKeys(map, step)
        // Known before the rest is taken for choices; their values are read when the choices are there.
        for key in ["digits", "min", "max"] { _ = map.node(key) }
        if let node = map.node("choices") {
            if let choices = MappingReader(node, "`choices`", step.sink) { self.choices = read(choices.entries, step) }
        } else if isMenu {
            let rest = map.remaining()
            choices = read(rest.filter { isChoice($0.key.text) }, step)
            for pair in rest where !isChoice(pair.key.text) {
                NodeRead.unknown(
                    "key", pair.key.text, of: map.what, at: pair.key.place,
                    known: [
                        "prompt", "prompts", "choices", "first-digit", "between", "within", "tries", "barge-in", "into", "on"
                    ],
                    step.sink)
            }
            if choices.isEmpty { step.sink.error(at: map.place, "`menu` has no choices", mend: "\"1\": { goto: section }") }
        }
        readCount(map, step, isMenu: isMenu)
        checkConflicts(map, step)
    }

    private func isChoice(_ key: String) -> Bool {
        key.hasPrefix("/") || !key.isEmpty && key.allSatisfy { Digit($0) != nil }
    }

    // MARK: Reading

    private mutating func readPrompts(_ map: MappingReader, _ step: StepReader, isMenu: Bool) {
        if isMenu, let node = map.node("prompt") { prompts[.first] = Sound.list(node, "`prompt`", step.flow) }
        guard let node = map.node("prompts") else { return }
        guard case .mapping = node.content else {
            prompts[.first] = Sound.list(node, "`prompts`", step.flow)
            return
        }
        guard let named = MappingReader(node, "`prompts`", step.sink) else { return }
        for prompt in CollectSettings.Prompt.allCases {
            if let node = named.node(prompt.rawValue) {
                prompts[prompt] = Sound.list(node, "`\(prompt.rawValue)`", step.flow)
            }
        }
        named.finish()
    }

    private mutating func readTimers(_ map: MappingReader, _ step: StepReader) {
        firstDigit = step.length("first-digit")
        between = step.length("between")
        within = step.length("within")
        guard let node = map.node("tries") else { return }
        if case .scalar = node.content {
            if let tries = NodeRead.int(node, "`tries`", in: 1...100, step.sink) {
                settings.silenceTries = tries
                settings.invalidTries = tries
            }
            return
        }
        guard let tries = MappingReader(node, "`tries`", step.sink) else { return }
        settings.silenceTries = tries.int("silence", in: 1...100) ?? settings.silenceTries
        settings.invalidTries = tries.int("invalid", in: 1...100) ?? settings.invalidTries
        tries.finish()
    }

    private mutating func readKeys(_ map: MappingReader, _ step: StepReader) {
        if let node = map.node("allow"), let keys = step.keys(node, "`allow`") { settings.allow = keys }
        if let key = step.key("finish-on") { settings.finishOn = key }
        if let text = map.string("pattern") {
            let bare = text.count > 1 && text.hasPrefix("/") && text.hasSuffix("/") ? String(text.dropFirst().dropLast()) : text
            do { pattern = try Pattern(bare) } catch { step.sink.error(at: map.place(of: "pattern"), error.message) }
        }
        if let node = map.node("barge-in") {
            if case .scalar(let scalar) = node.content, case .bool(let flag) = scalar.value {
                settings.bargeIn = flag ? .any : .none
            } else if let keys = step.keys(node, "`barge-in` (true, false or keys)") {
                settings.bargeIn = .keys(keys)
            }
        }
        settings.typeAhead = map.bool("type-ahead") ?? true
        settings.duringPrompt = map.choice("during-prompt") ?? .keep
        if let node = map.node("sources") {
            let words = NodeRead.list(node).compactMap { NodeRead.string($0, "`sources`", step.sink) }
            for word in words where word != "auto" && DigitSource(rawValue: word) == nil {
                NodeRead.unknown(
                    "value", word, of: "`sources`", at: node.place, known: ["auto"] + DigitSource.allCases.map(\.rawValue),
                    step.sink)
            }
            if !words.contains("auto") { settings.sources = Set(words.compactMap(DigitSource.init(rawValue:))) }
        }
        isSecret = map.bool("secret") ?? false
    }

    private mutating func readCount(_ map: MappingReader, _ step: StepReader, isMenu: Bool) {
        let digits = map.int("digits", in: 1...128)
        let least = map.int("min", in: 0...128)
        let most = map.int("max", in: 1...128)
        if digits != nil, least != nil || most != nil {
            step.sink.error(
                at: map.place(of: "digits"), "`digits` stands beside `min` or `max`", mend: "`digits: 4` is `min: 4` and `max: 4`"
            )
        }
        let longest = choices.filter { $0.pattern == nil }.map(\.key.count).max()
        settings.max = digits ?? most ?? max(isMenu ? longest ?? 1 : 1, least ?? 1)
        settings.min = digits ?? least ?? (most == nil && !isMenu ? settings.max : 1)
        if settings.min > settings.max {
            step.sink.error(at: map.place(of: "min"), "`min` (\(settings.min)) is more than `max` (\(settings.max))")
        }
        for choice in choices where choice.pattern == nil && choice.key.count > settings.max {
            step.sink.error(
                at: choice.place, "`\(choice.key)` can never be pressed: the entry ends at \(settings.max) digits",
                mend: "write `min: 1` and `max: \(choice.key.count)`")
        }
    }

    private func read(_ pairs: [YAMLPair], _ step: StepReader) -> [Choice] {
        pairs.compactMap { pair -> Choice? in
            let key = pair.key.text
            var pattern: Pattern?
            if key.count > 1, key.hasPrefix("/"), key.hasSuffix("/") {
                do throws(ExpressionError) { pattern = try Pattern(String(key.dropFirst().dropLast())) } catch {
                    step.sink.error(at: pair.key.place, error.message)
                    return nil
                }
            } else if !isChoice(key) {
                step.sink.error(
                    at: pair.key.place, "`\(key)` is neither keys (0-9, *, #, A-D, !) nor a /pattern/",
                    mend: key == "default" ? "use `on: { invalid: … }` for what no choice takes" : nil)
                return nil
            }
            return Choice(key: key, pattern: pattern, block: step.flow.block(pair.value), place: pair.key.place)
        }
    }

    private func checkConflicts(_ map: MappingReader, _ step: StepReader) {
        guard let finish = settings.finishOn else { return }
        if map.has("allow"), settings.allow.contains(finish) {
            step.sink.error(
                at: map.place(of: "allow"), "`allow` holds `\(finish)`, which ends the entry (`finish-on`)",
                mend: "take `\(finish)` out of `allow`, or write `finish-on: \"\"`")
        }
        for choice in choices where choice.pattern == nil && choice.key.contains(finish.character) {
            step.sink.error(
                at: choice.place, "the choice `\(choice.key)` holds `\(finish)`, which ends the entry (`finish-on`)",
                mend: "write `finish-on: \"\"` or another key")
        }
        if let choice = choices.first(where: { choice in
            choice.pattern == nil && choice.key.contains { sign in Digit(sign).map { !settings.allow.contains($0) } ?? false }
        }) {
            step.sink.error(at: choice.place, "the choice `\(choice.key)` holds a key that `allow` leaves out")
        }
    }

    // MARK: Running

    var shape: StepShape {
        var shape = StepShape(branches: choices.map(\.block), takesTime: true)
        shape.exhaustive = choices.isEmpty ? CollectParameters.outcomes : ["silence", "invalid"]
        return shape
    }

    func run(_ run: FlowRun) async throws -> StepResult {
        var settings = settings
        settings.firstDigit = try run.length(firstDigit, default: settings.firstDigit)
        settings.between = try run.length(between, default: settings.between)
        settings.within = try within.map { try run.length($0) }
        settings.judge = { [choices, pattern] entry in
            if let pattern, !pattern.matches(entry, whole: true) { return nil }
            return choices.isEmpty ? 0 : choices.firstIndex { $0.takes(entry) }
        }
        let inbox = run.call.digits
        let wasSecret = inbox.isSecret
        if isSecret {
            inbox.isSecret = true
            inbox.hideWaiting()
        }
        defer { inbox.isSecret = wasSecret }
        let sources = try prompts.mapValues { try $0.map { try run.source($0) } }
        let names = try prompts.mapValues { try $0.map { try run.shown($0) } }
        let driver = CollectDriver(call: run.call, settings: settings, prompts: sources)
        driver.onPrompt = { [weak run] parts in run?.emit(.promptBegan(parts.flatMap { names[$0] ?? [] })) }
        driver.onPromptEnd = { [weak run] parts, end in run?.emit(.promptEnded(parts.flatMap { names[$0] ?? [] }, end)) }
        driver.onFailure = { [weak run] reason in run?.emit(.warning("collect: \(reason)", at: run?.currentPlace)) }
        run.background = nil
        let result = try await driver.run()
        return report(result, run)
    }

    private func report(_ result: CollectResult, _ run: FlowRun) -> StepResult {
        run.emit(.collected(digits: isSecret && !result.value.isEmpty ? "***" : result.value, reason: result.reason.rawValue))
        var step = StepResult(
            value: .object([
                "value": .string(result.value), "reason": .string(result.reason.rawValue), "keys": .string(result.keys),
                "ignored": .string(result.ignored), "source": result.source.map { .string($0.rawValue) } ?? .null,
                "took": .duration(result.took)
            ]), outcome: result.reason.rawValue)
        step.into = .string(result.value)
        step.isSecret = isSecret
        if let choice = result.choice, choices.indices.contains(choice) { step.then = choices[choice].block }
        return step
    }
}
