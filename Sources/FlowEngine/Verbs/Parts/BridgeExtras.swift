// What `bridge` does besides connecting two: a whisper to the callee, a key by which he takes the call, keys while they talk, a limit.

import CallEngine

/// The settings `whisper`, `screen`, `keys` and `limit` of `bridge`.
struct BridgeExtras: Sendable {
    /// The section that is run on the callee's leg first.
    private var whisper: String?
    private var screen: Screen?
    private var keys: [(keys: BridgeKeys, section: String)] = []
    private var limit: FlowLength?
    private var warning: (before: FlowLength, sounds: [Sound])?
    /// The sections that these run, for the checker.
    private(set) var sections: [(section: String, place: SourcePlace, key: String)] = []

    /// By which key a callee takes the call.
    private struct Screen: Sendable {
        var key = Digit("1")!
        var reject: Digit?
        var prompts: [Sound] = []
        var timeout: FlowLength?
        var tries = 1
    }

    init() {}

    init(_ step: StepReader, _ map: MappingReader) {
        whisper = map.node("whisper").flatMap { section($0, "whisper", step) }
        if let node = map.node("screen") { screen = Self.screen(node, step) }
        if let node = map.node("keys"), let map = MappingReader(node, "`keys`", step.sink) {
            for pair in map.entries { readKeys(pair, step) }
        }
        if let node = map.node("limit") { readLimit(node, step) }
    }

    private mutating func section(_ node: YAMLNode, _ key: String, _ step: StepReader) -> String? {
        guard let name = NodeRead.string(node, "`\(key)` (the name of a section)", step.sink) else { return nil }
        sections.append((name, node.place, key))
        return name
    }

    // MARK: screen

    private static func screen(_ node: YAMLNode, _ step: StepReader) -> Screen? {
        var screen = Screen()
        guard case .mapping = node.content else {
            guard let key = key(node, "screen", step) else { return nil }
            screen.key = key
            return screen
        }
        guard let map = MappingReader(node, "`screen`", step.sink) else { return nil }
        defer { map.finish() }
        if let key = map.node("key").flatMap({ Self.key($0, "key", step) }) { screen.key = key }
        screen.reject = map.node("reject").flatMap { Self.key($0, "reject", step) }
        if screen.reject == screen.key {
            step.sink.error(at: map.place(of: "reject"), "`reject` and `key` are the same key", mend: "take another key")
        }
        if let node = map.node("prompt") { screen.prompts = Sound.list(node, "`prompt`", step.flow) }
        screen.timeout = map.node("timeout").flatMap { step.flow.length($0, "`timeout`") }
        screen.tries = map.int("tries", in: 1...10) ?? 1
        return screen
    }

    private static func key(_ node: YAMLNode, _ what: String, _ step: StepReader) -> Digit? {
        guard let text = NodeRead.string(node, "`\(what)`", step.sink) else { return nil }
        guard text.count == 1, let digit = Digit(text.first!) else {
            step.sink.error(at: node.place, "`\(what)` is one key of 0-9, *, #, A-D, !, not `\(text)`")
            return nil
        }
        return digit
    }

    // MARK: keys

    private mutating func readKeys(_ pair: YAMLPair, _ step: StepReader) {
        let digits = pair.key.text.map { Digit($0) }
        guard !digits.isEmpty, digits.count <= 8, !digits.contains(nil) else {
            return step.sink.error(
                at: pair.key.place, "`keys` names one to eight keys of 0-9, *, #, A-D, ! each, not `\(pair.key.text)`")
        }
        var keys = BridgeKeys(digits.compactMap(\.self))
        if let other = self.keys.first(where: {
            $0.keys.digits.starts(with: keys.digits) || keys.digits.starts(with: $0.keys.digits)
        }) {
            let name = String(other.keys.digits.map(\.character))
            return step.sink.error(
                at: pair.key.place, "`\(pair.key.text)` and `\(name)`: one begins as the other, which is never known",
                mend: "take other keys")
        }
        guard case .mapping = pair.value.content else {
            if let section = section(pair.value, pair.key.text, step) { self.keys.append((keys, section)) }
            return
        }
        guard let map = MappingReader(pair.value, "`\(pair.key.text)`", step.sink) else { return }
        keys.by = map.choice("by") ?? .both
        if let node = map.required("section", mend: "section: name"), let section = section(node, "section", step) {
            self.keys.append((keys, section))
        }
        map.finish()
    }

    // MARK: limit

    private mutating func readLimit(_ node: YAMLNode, _ step: StepReader) {
        guard case .mapping = node.content, let map = MappingReader(node, "`limit`", step.sink) else {
            limit = step.flow.length(node, "`limit`")
            return
        }
        defer { map.finish() }
        limit = map.required("after", mend: "after: 30m").flatMap { step.flow.length($0, "`after`") }
        let before = map.node("warn").flatMap { step.flow.length($0, "`warn`") }
        let sounds = map.node("prompt").map { Sound.list($0, "`prompt`", step.flow) }
        switch (before, sounds) {
        case (let before?, let sounds?): warning = (before, sounds)
        case (nil, nil): break
        case (_?, nil): step.sink.error(at: map.place(of: "warn"), "`warn` needs the `prompt` that is played then")
        case (nil, _?):
            step.sink.error(at: map.place(of: "prompt"), "`prompt` needs `warn`: how long before the end", mend: "warn: 1m")
        }
        if case .fixed(let before)? = before, case .fixed(let after)? = limit, before >= after {
            step.sink.error(at: map.place(of: "warn"), "`warn` is as long as `after`, or longer", mend: "take a shorter one")
        }
    }

    // MARK: Running

    /// Puts into the request what is wanted of it. `asides` run it.
    func add(to request: inout BridgeRequest, _ run: FlowRun, _ asides: FlowAsides) throws {
        if whisper != nil || screen != nil {
            let ask = try screen.map { try CalleeQuestion($0.key, $0.reject, $0.prompts, $0.timeout, $0.tries, run) }
            request.prepare = { [whisper] leg async throws(CancellationError) in
                if let whisper {
                    let verdict = try await asides.run(whisper, on: leg)
                    guard verdict == .goOn else { return verdict }
                }
                guard let ask else { return .goOn }
                return try await asides.run(on: leg) { try await ask.verdict(on: $0) }
            }
        }
        if !keys.isEmpty {
            request.keys = keys.map(\.keys)
            request.onKeys = { [keys] index, call async throws(CancellationError) in
                try await asides.run(keys[index].section, on: call)
            }
        }
        request.limit = try limit.map { try run.length($0) }
        if let warning { request.warning = (try run.length(warning.before), try warning.sounds.map { try run.source($0) }) }
    }
}

/// Whether the callee takes the call, by a key.
private struct CalleeQuestion {
    private var settings = CollectSettings()
    private let key: Digit
    private let sources: [AudioSource]
    private let names: [String]

    init(_ key: Digit, _ reject: Digit?, _ prompts: [Sound], _ timeout: FlowLength?, _ tries: Int, _ run: FlowRun) throws {
        self.key = key
        sources = try prompts.map { try run.source($0) }
        names = try prompts.map { try run.shown($0) }
        settings.allow = Set([key, reject].compactMap(\.self))
        settings.finishOn = nil
        settings.typeAhead = false
        settings.firstDigit = try run.length(timeout, default: .seconds(10))
        settings.silenceTries = tries
    }

    func verdict(on run: FlowRun) async throws -> BridgeVerdict {
        let driver = CollectDriver(call: run.call, settings: settings, prompts: [.first: sources])
        driver.onPrompt = { [run, names] _ in run.emit(.promptBegan(names)) }
        driver.onPromptEnd = { [run, names] _, end in run.emit(.promptEnded(names, end)) }
        driver.onFailure = { [run] reason in run.emit(.warning("bridge: screen: \(reason)", at: run.currentPlace)) }
        let result = try await driver.run()
        return result.reason == .silence ? .noAnswer : result.value == String(key.character) ? .goOn : .rejected
    }
}
