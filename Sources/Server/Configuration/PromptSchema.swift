// `prompts`: the limits of prompts by URL (their credentials are in PromptCredential). `speech`: the command that speaks. `cache`: where both are kept.

import FlowEngine
import Web

struct PromptSchema {
    let schema: ConfigurationSchema

    func read(_ top: FieldReader, into result: inout Configuration) {
        result.cache = readCache(top)
        readSpeech(top, into: &result.speech)
        guard let fields = top.section("prompts", known: ["timeout", "megabytes", "redirects", "credentials"]) else { return }
        if let time = fields.duration("timeout", in: .milliseconds(100) ... .seconds(120)) { result.prompts.time = time }
        if let size = fields.integer("megabytes", in: 1...200) { result.prompts.octets = size << 20 }
        if let count = fields.integer("redirects", in: 0...20) { result.prompts.redirects = count }
        result.promptCredentials = PromptCredentialSchema(schema: schema).read(fields)
    }

    private func readSpeech(_ top: FieldReader, into speech: inout SpeechSettings) {
        guard let fields = top.section("speech", known: ["command", "voice", "timeout", "processes"]) else { return }
        if let words = fields.texts("command") {
            if let word = words.first, words.count == 1, word.text.contains(" ") {
                schema.sink.error(
                    at: word.place, "`speech.command` is a list of words; no shell reads it",
                    mend: "write [ \(word.written.split(separator: " ").joined(separator: ", ")) ]")
            } else if words.first?.text.isEmpty != false {
                schema.sink.error(
                    at: fields.node.place, "`speech.command` names no program", mend: "write [ espeak-ng, --stdout, --stdin ]")
            } else {
                speech.command = words.map(\.text)
            }
        }
        if let voice = fields.text("voice") { speech.voice = voice.text }
        if let time = fields.duration("timeout", in: .seconds(1) ... .seconds(300)) { speech.time = time }
        if let count = fields.integer("processes", in: 1...64) { speech.processes = count }
    }

    private func readCache(_ top: FieldReader) -> Configuration.Cache {
        var result = Configuration.Cache(folder: usualFolder)
        guard let fields = top.section("cache", known: ["folder", "megabytes"]) else { return result }
        if let folder = fields.text("folder") {
            result.folder = schema.path(folder.text)
            if folder.text.isEmpty { schema.sink.error(at: folder.place, "`cache.folder` is empty", mend: "write folder: cache") }
        }
        if let size = fields.integer("megabytes", in: 1...1_000_000) { result.size = size << 20 }
        return result
    }

    /// systemd's CacheDirectory, else the user's as the XDG base directory specification has it.
    private var usualFolder: String {
        let environment = schema.sources.environment
        if let folder = environment["CACHE_DIRECTORY"]?.split(separator: ":").first { return String(folder) }
        if let folder = environment["XDG_CACHE_HOME"], folder.hasPrefix("/") { return "\(folder)/ringwright" }
        if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/.cache/ringwright" }
        return "cache"
    }
}
