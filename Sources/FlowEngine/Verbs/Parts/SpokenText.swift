// A text to be spoken, as flows write it: alone, or with `voice`, `language` and `as` beside it.

import Basics
import CallEngine

/// What is spoken, and in which voice.
package struct SpokenText: Sendable {
    let text: FlowText
    /// nil: the configuration's.
    let voice: FlowText?
    /// nil: the flow's.
    let language: String?
    /// What the text is a value of; nil: it is spoken as it is.
    let value: SpokenValue?

    /// Longer ones are refused: they would keep a caller, and a program, for more than five minutes.
    static let longest = 5000

    /// - Parameter map: where `voice`, `language` and `as` may stand.
    static func read(_ node: YAMLNode, in map: MappingReader?, _ what: String, _ flow: FlowReader) -> SpokenText? {
        let voice = map?.node("voice").flatMap { flow.text($0, "`voice`") }
        let language = map?.node("language").flatMap { node -> String? in
            guard let code = NodeRead.string(node, "`language`", flow.sink) else { return nil }
            if isCode(code) { return code }
            flow.sink.error(at: node.place, "`language` is a code such as en or de-CH, not `\(code)`")
            return nil
        }
        let value = map?.choice("as", SpokenValue.self)
        guard let text = flow.text(node, what) else { return nil }
        if let value { check(value, of: text, in: language ?? flow.language, what, flow.sink) }
        if let words = text.constant {
            if words.allSatisfy(\.isWhitespace) { flow.sink.error(at: node.place, "\(what) says nothing") }
            if words.utf8.count > longest { flow.sink.error(at: node.place, "\(what) is longer than \(longest) bytes") }
        }
        if let voice, let name = voice.constant, !isVoice(name) {
            flow.sink.error(at: voice.place, "`\(name)` is no name of a voice", mend: "it has letters, digits and . _ + - /")
        }
        return SpokenText(text: text, voice: voice, language: language, value: value)
    }

    private static func check(
        _ value: SpokenValue, of text: FlowText, in language: String, _ what: String, _ sink: DiagnosticSink
    ) {
        do throws(SpokenValue.Misfit) {
            if value.needsLanguage, SpokenLanguage.named(language) == nil { throw SpokenValue.Misfit(language: language) }
            if let constant = text.constant { _ = try value.words(for: constant, in: language) }
        } catch {
            sink.error(at: text.place, "\(what) as `\(value.rawValue)` \(error.words)", mend: error.mend)
        }
    }

    /// As BCP 47 has it, without its rarer parts.
    private static func isCode(_ code: String) -> Bool { code.wholeMatch(of: /[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*/) != nil }

    /// What may be an argument of any program, and leads nowhere.
    private static func isVoice(_ name: String) -> Bool {
        name.wholeMatch(of: /[A-Za-z0-9_.\/][A-Za-z0-9_.+\/-]*/) != nil && !name.contains("..") && name.utf8.count <= 200
    }

    func origin(_ run: FlowRun) throws -> AudioSource {
        let words = String(try run.text(text).unicodeScalars.map { $0 == "\0" ? " " : Character($0) })
        guard !words.allSatisfy(\.isWhitespace) else {
            throw FlowError("there is nothing to say: the text is empty", at: text.place)
        }
        guard words.utf8.count <= Self.longest else {
            throw FlowError("the text is longer than \(Self.longest) bytes", at: text.place)
        }
        let code = language ?? run.frame.flow.language
        let shown = try run.shown(text)
        let spoken = try value.map { try said($0, words, in: code, shown: shown) } ?? words
        let voice = try voice.map { try run.text($0) }
        if let voice, !Self.isVoice(voice) { throw FlowError("`\(voice)` is no name of a voice", at: text.place) }
        // What is secret reads *** and is shown so.
        let utterance = Utterance(text: spoken, voice: voice, language: code, shown: shown == words ? spoken : shown)
        return .supplied(.speech(utterance))
    }

    private func said(_ value: SpokenValue, _ words: String, in code: String, shown: String) throws -> String {
        do throws(SpokenValue.Misfit) {
            return try value.words(for: words, in: code)
        } catch {
            throw FlowError(
                "`\(VisibleText.escaped(shown, atMost: 40))` as `\(value.rawValue)` \(error.words): \(error.mend)", at: text.place
            )
        }
    }
}
