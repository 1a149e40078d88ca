// Speech: a text becomes audio by a command of the configuration, once; what was made is kept in the cache's folder.

import Audio
import Basics
import CallEngine
import Reactor

/// How speech is made.
package struct SpeechSettings: Equatable, Sendable {
    /// The program and its arguments, in which `{voice}`, `{language}` and `{text}` stand for what is spoken. Without `{text}` it gets the
    /// text as its standard input.
    package var command = ["espeak-ng", "--stdout", "-v", "{voice}", "--stdin"]
    /// The voice where none is asked for; nil: the language's code.
    package var voice: String?
    /// How long a text may take.
    package var time = Duration.seconds(10)
    /// Programs at a time.
    package var processes = 2

    package init() {}

    /// The words for one text.
    func words(for utterance: Utterance) -> [String] {
        let voice = utterance.voice ?? voice ?? utterance.language
        // No text is taken for an option.
        let text = utterance.text.hasPrefix("-") ? " \(utterance.text)" : utterance.text
        return command.map { word in
            var result = ""
            var rest = Substring(word)
            while let brace = rest.firstIndex(of: "{") {
                result += rest[..<brace]
                rest = rest[brace...]
                let known = [("{voice}", voice), ("{language}", utterance.language), ("{text}", text)]
                let found = known.first { rest.hasPrefix($0.0) } ?? ("{", "{")
                result += found.1
                rest = rest.dropFirst(found.0.count)
            }
            return result + rest
        }
    }

    func input(for utterance: Utterance) -> [UInt8] {
        command.contains { $0.contains("{text}") } ? [] : Array(utterance.text.utf8)
    }
}

/// What became of texts that were to be spoken.
package struct SpeechCounters: Equatable, Sendable {
    /// The audio was there.
    package var kept: UInt64 = 0
    package var made: UInt64 = 0
    package var failed: UInt64 = 0

    package init() {}
}

/// Makes speech for all calls of a process.
final class SpeechMaker: Sendable {
    typealias Answer = @Sendable (Result<String, PromptUnavailable>) -> Void

    private struct State {
        var waiting: [String: [Answer]] = [:]
        /// When files were seen last, by their keys.
        var seen: [String: ContinuousClock.Instant] = [:]
        var counters = SpeechCounters()
    }

    private let settings: SpeechSettings
    private let files: FileCache
    /// For the disk: a text that was spoken before waits for no program.
    private let workers: WorkerPool
    /// As many threads as programs may run.
    private let speakers: WorkerPool
    private let runs: ProgramRuns
    private let judge: @Sendable (_ path: String) -> String?
    private let state = Locked(State())
    /// Of what a command writes: ten minutes at 48 kHz.
    private static let mostOctets = 60 << 20
    private static let mostWaiting = 256
    private static let mostSeen = 10_000

    init(
        _ settings: SpeechSettings, files: FileCache, workers: WorkerPool, judge: @escaping @Sendable (String) -> String?
    ) throws(SystemError) {
        self.settings = settings
        self.files = files
        self.workers = workers
        self.judge = judge
        runs = try ProgramRuns()
        speakers = try WorkerPool(name: "speech", threads: settings.processes, limit: Self.mostWaiting)
    }

    var counters: SpeechCounters { state.withLock { $0.counters } }

    /// Ends programs that run, and the threads.
    func stop() {
        runs.stop()
        speakers.stop()
    }

    /// Gets a file with the audio. `then` runs once, at once or on some thread.
    func file(of utterance: Utterance, then: @escaping Answer) {
        let words = settings.words(for: utterance)
        let input = settings.input(for: utterance)
        let key = words.joined(separator: "\u{0}") + "\u{0}" + String(decoding: input, as: UTF8.self)
        let path = files.path(of: key, ending: ".speech")
        let now = ContinuousClock.now
        enum Way { case kept, waits, begins }
        let way = state.withLock { state -> Way in
            // The file itself is looked at once a second at most.
            if let seen = state.seen[path], now - seen < .seconds(1) {
                state.counters.kept += 1
                return .kept
            }
            guard state.waiting[path] == nil else {
                state.waiting[path]?.append(then)
                return .waits
            }
            state.waiting[path] = [then]
            return .begins
        }
        switch way {
        case .kept: then(.success(path))
        case .waits: break
        case .begins:
            submit(workers, path) { [self] in
                if files.use(path) { return finish(path, .success(path), \.kept) }
                submit(speakers, path) { self.speak(words, input, path, isSecret: utterance.isSecret) }
            }
        }
    }

    private func submit(_ pool: WorkerPool, _ path: String, _ work: @escaping @Sendable () -> Void) {
        do throws(WorkRefused) {
            try pool.submit(work)
        } catch {
            fail(path, "too many texts wait to be spoken", "allow more with speech.processes")
        }
    }

    private func speak(_ words: [String], _ input: [UInt8], _ path: String, isSecret: Bool) {
        let audio: [UInt8]
        do throws(ProgramFailure) {
            audio = try runs.run(words, input: input, time: settings.time, most: Self.mostOctets)
        } catch {
            let (what, mend) = Self.words(for: error, settings, isSecret)
            return fail(path, what, mend)
        }
        let mend = "speech.command has to write an audio file to its standard output"
        guard !audio.isEmpty else { return fail(path, "`\(settings.command[0])` gave nothing", mend) }
        do throws(SystemError) {
            if let reason = try files.keep(audio, at: path, unless: judge) {
                return fail(path, "what `\(settings.command[0])` gave \(reason)", mend)
            }
        } catch {
            return fail(path, "it cannot be kept: \(error)", "look at cache.folder")
        }
        finish(path, .success(path), \.made)
    }

    /// What went wrong, and what to do about it. Never the text, which may be secret; nor what a command said of a text that is.
    private static func words(
        for failure: ProgramFailure, _ settings: SpeechSettings, _ isSecret: Bool
    ) -> (what: String, mend: String) {
        let name = "`\(settings.command[0])`"
        func said(_ words: String) -> String {
            words.isEmpty ? "" : isSecret ? " (what it said is left out: the text is secret)" : ": \(words)"
        }
        return switch failure {
        case .start(let error):
            ("\(name) cannot be started: \(error.reason)", "install it, or name another program in speech.command")
        case .time:
            (
                "\(name) took longer than \(settings.time.components.seconds) s and was ended",
                "allow more with speech.timeout, or speak less at a time"
            )
        case .output: ("\(name) gave more than \(mostOctets >> 20) MiB and was ended", "speak less at a time")
        case .status(let status, let words): ("\(name) ended with status \(status)\(said(words))", "look at speech.command")
        case .signal(let number, let words): ("\(name) was ended by signal \(number)\(said(words))", "look at speech.command")
        case .stopped: ("\(name) was ended: the server ends", "")
        }
    }

    private func fail(_ path: String, _ what: String, _ mend: String) {
        finish(path, .failure(PromptUnavailable("speech: \(what)\(mend.isEmpty ? "" : "; \(mend)")")), \.failed)
    }

    private func finish(
        _ path: String, _ result: Result<String, PromptUnavailable>, _ count: WritableKeyPath<SpeechCounters, UInt64>
    ) {
        let now = ContinuousClock.now
        let waiting = state.withLock { state in
            state.counters[keyPath: count] += 1
            if case .success = result {
                if state.seen.count >= Self.mostSeen { state.seen = [:] }
                state.seen[path] = now
            }
            return state.waiting.removeValue(forKey: path) ?? []
        }
        for answer in waiting { answer(result) }
    }
}
