// Something to hear, as flows write it: a file, a tone, silence. Shared by the verbs that play.

import Basics
import CallEngine
import Reactor

/// One thing that plays.
package enum Sound: Sendable {
    case file(FlowText)
    case tone(ToneSpec)
    case silence(FlowLength)
    case speech(SpokenText)
    /// A file that was recorded, by its name under the recordings folder.
    case recording(FlowText)

    /// A file name, or `{ file: }`, `{ say: }`, `{ silence: }`. A tone has no end of its own, so it stands in no list.
    static func read(_ node: YAMLNode, _ what: String, _ flow: FlowReader) -> Sound? {
        guard case .mapping = node.content else {
            return flow.text(node, what).flatMap { file($0, flow) }
        }
        guard let map = MappingReader(node, what, flow.sink) else { return nil }
        defer { map.finish() }
        if let silence = map.node("silence") { return flow.length(silence, "`silence`").map(Sound.silence) }
        if let recording = map.node("recording") { return flow.text(recording, "`recording`").map(Sound.recording) }
        if let text = map.node("say") { return SpokenText.read(text, in: map, "`say`", flow).map(Sound.speech) }
        if map.has("tone") {
            _ = map.node("tone")
            flow.sink.error(
                at: map.place(of: "tone"), "a tone has no end of its own here", mend: "use the verb `tone` with `for:` as a step")
            return nil
        }
        guard let file = map.required("file") else { return nil }
        return flow.text(file, "`file`").flatMap { self.file($0, flow) }
    }

    /// A file of the prompts folder, or one at a URL.
    static func file(_ text: FlowText, _ flow: FlowReader) -> Sound? {
        guard let name = text.constant, name.contains("://") else {
            // What begins with an expression may become a URL.
            if !WebAddress.isFetched(text.source) { flow.note(prompt: text) }
            return .file(text)
        }
        guard WebAddress.isFetched(name) else {
            flow.sink.error(at: text.place, "a prompt is fetched over http or https", mend: "begin the URL with https://")
            return nil
        }
        let host = name.drop { $0 != "/" }.dropFirst(2).prefix { !"/?#".contains($0) }
        if host.isEmpty || host.contains(where: \.isWhitespace) {
            flow.sink.error(at: text.place, "the URL names no host", mend: "write https://example.com/prompt.wav")
        } else if host.contains("@") {
            flow.sink.error(at: text.place, "the URL holds a user name", mend: "prompts are fetched without one")
        }
        return .file(text)
    }

    static func list(_ node: YAMLNode, _ what: String, _ flow: FlowReader) -> [Sound] {
        NodeRead.list(node).compactMap { read($0, what, flow) }
    }
}

extension FlowRun {
    /// The path of a prompt, confined to the flow's prompts folder.
    func source(_ sound: Sound) throws -> AudioSource {
        switch sound {
        case .tone(let tone): return tone.source
        case .silence(let length): return .silence(try self.length(length))
        case .file(let text):
            let name = try self.text(text)
            if WebAddress.isFetched(name) { return .supplied(.web(url: name, shown: try shown(sound))) }
            return .file(path: try path(text, under: frame.flow.promptsFolder))
        case .speech(let speech): return try speech.origin(self)
        case .recording(let text): return .file(path: try path(text, under: environment.recordingsFolder))
        }
    }

    /// The path of a file below a folder, whatever the text's values say.
    func path(_ text: FlowText, under folder: String) throws -> String {
        do {
            return try PathConfinement.resolve(try self.text(text), under: folder)
        } catch let error as PathConfinement.Refused {
            throw FlowError(isSecret(text) ? "the file name is not allowed" : error.message, at: text.place)
        }
    }

    /// The name for logs.
    func shown(_ sound: Sound) throws -> String {
        switch sound {
        case .tone(let tone): tone.words
        case .silence(let length): "silence \(FlowDuration.print(try self.length(length)))"
        case .recording(let text): try shown(text)
        case .speech(let speech): try shown(speech.text)
        case .file(let text):
            if case let name = try shown(text), WebAddress.isFetched(name) {
                WebAddress.withoutSecrets(name)
            } else {
                try shown(text)
            }
        }
    }

    /// Plays to the end. Cancelling stops the audio at once.
    func play(_ request: PlaybackRequest, names: [String], for limit: Duration? = nil) async throws -> PlaybackEnd {
        let over = Waiter<PlaybackEnd>()
        let playback = start(request, names: names) { over.resume(returning: $0) }
        let timer = limit.map { loop.schedule(after: $0) { playback.stop() } }
        defer {
            timer?.cancel()
            playback.stop()
        }
        return try await over.wait()
    }

    /// Starts playing; events say when it begins and ends.
    func start(_ request: PlaybackRequest, names: [String], onEnd: @escaping (PlaybackEnd) -> Void) -> Playback {
        emit(.promptBegan(names))
        if request.layer == .upper { background = nil }
        let playback = call.play(request)
        playback.onEnd = { [weak self] end in
            let shown: FlowEvent.PromptEnd =
                switch end {
                case .finished: .finished
                case .stopped: .stopped
                case .failed(let reason): .failed(reason)
                }
            self?.emit(.promptEnded(names, shown))
            onEnd(end)
        }
        return playback
    }
}
