// A text to be spoken, as flows write it: alone, or with `voice` and `language` beside it.

import CallEngine

/// What is spoken, and in which voice.
package struct SpokenText: Sendable {
    let text: FlowText
    /// nil: the configuration's.
    let voice: FlowText?
    /// nil: the flow's.
    let language: String?

    /// Longer ones are refused: they would keep a caller, and a program, for more than five minutes.
    static let longest = 5000

    /// - Parameter map: where `voice` and `language` may stand.
    static func read(_ node: YAMLNode, in map: MappingReader?, _ what: String, _ flow: FlowReader) -> SpokenText? {
        let voice = map?.node("voice").flatMap { flow.text($0, "`voice`") }
        let language = map?.node("language").flatMap { node -> String? in
            guard let code = NodeRead.string(node, "`language`", flow.sink) else { return nil }
            if isCode(code) { return code }
            flow.sink.error(at: node.place, "`language` is a code such as en or de-CH, not `\(code)`")
            return nil
        }
        guard let text = flow.text(node, what) else { return nil }
        if let words = text.constant {
            if words.allSatisfy(\.isWhitespace) { flow.sink.error(at: node.place, "\(what) says nothing") }
            if words.utf8.count > longest { flow.sink.error(at: node.place, "\(what) is longer than \(longest) bytes") }
        }
        if let voice, let name = voice.constant, !isVoice(name) {
            flow.sink.error(at: voice.place, "`\(name)` is no name of a voice", mend: "it has letters, digits and . _ + - /")
        }
        return SpokenText(text: text, voice: voice, language: language)
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
        let voice = try voice.map { try run.text($0) }
        if let voice, !Self.isVoice(voice) { throw FlowError("`\(voice)` is no name of a voice", at: text.place) }
        let utterance = Utterance(
            text: words, voice: voice, language: language ?? run.frame.flow.language, shown: try run.shown(text))
        return .supplied(.speech(utterance))
    }
}
