// Texts that are spoken: by espeak-ng, and by commands that do what commands do on bad days.

import Audio
import CallEngine
import Foundation
import Reactor
import Server
import TestKit
import Testing
import Web

@Suite struct SpeechTests {
    private static let speaker = PeerProgram.path(of: "espeak-ng")

    /// A supplier with this configuration, and what it is asked.
    private final class World {
        let folder: TemporaryFolder
        let client = HTTPClient()
        let supplier: PromptSupplier

        init(_ folder: TemporaryFolder, _ change: (inout SpeechSettings) -> Void = { _ in }) throws {
            self.folder = folder
            var configuration = Configuration()
            configuration.cache.folder = folder.path("cache")
            change(&configuration.speech)
            supplier = try PromptSupplier.forCommand(configuration, client: client)
        }

        func speak(
            _ text: String, voice: String? = nil, language: String = "en", shown: String? = nil
        ) async -> Result<String, PromptUnavailable> {
            let utterance = Utterance(text: text, voice: voice, language: language, shown: shown ?? text)
            return await withCheckedContinuation { continuation in
                supplier.file(of: .speech(utterance)) { continuation.resume(returning: $0) }
            }
        }

        func failure(_ text: String = "Good morning", shown: String? = nil) async -> String {
            guard case .failure(let failure) = await speak(text, shown: shown) else { return "it spoke" }
            return failure.reason
        }

        func end() {
            client.stopAndWait()
            supplier.stop()
        }
    }

    @Test(.enabled(if: speaker != nil, "espeak-ng is not installed"))
    func espeakSpeaksEachTextOnce() async throws {
        let folder = try TemporaryFolder()
        let world = try World(folder)
        let path = try await world.speak("Good morning, this is a test.").get()
        let clip = try PromptFile.read(path)
        #expect(clip.length > .seconds(1) && clip.length < .seconds(5) && clip.level > -40)
        #expect(try await world.speak("Good morning, this is a test.").get() == path)
        let slower = try await world.speak("Good morning, this is a test.", voice: "en-us+f3").get()
        let german = try await world.speak("Guten Morgen, das ist ein Test.", language: "de").get()
        #expect(Set([path, slower, german]).count == 3)
        // A text is no option, in whatever way it is given.
        #expect(try PromptFile.read(try await world.speak("--version").get()).length > .milliseconds(300))
        #expect(world.supplier.figures.speech.made == 4 && world.supplier.figures.speech.kept == 1)
        world.end()
        // Another process finds it.
        let second = try World(folder) { $0.time = .seconds(7) }
        #expect(try await second.speak("Good morning, this is a test.").get() == path)
        #expect(second.supplier.figures.speech.made == 0)
        #expect(await second.failure("x").hasPrefix("it spoke"))
        second.end()
    }

    @Test func theCommandGetsWhatItAsksFor() async throws {
        let folder = try TemporaryFolder()
        let prompt = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../prompts/goodbye.wav").path
        // It notes how it was called, and gives a prompt.
        let script = "printf '%s|' \"$@\" >> \(folder.path("called")); cat >> \(folder.path("called")); cat '\(prompt)'"
        let first = try World(folder) { $0.command = ["sh", "-c", script, "sh", "{voice}", "{language}:{other}"] }
        _ = try await first.speak("text", language: "de").get()
        #expect(folder.text("called") == "de|de:{other}|text")
        first.end()
        let second = try World(folder) {
            $0.command = ["sh", "-c", script, "sh", "{voice}", "{text}"]
            $0.voice = "anna"
        }
        _ = try await second.speak("-f {voice}").get()
        #expect(folder.text("called") == "de|de:{other}|textanna| -f {voice}|")
        second.end()
    }

    @Test func whatGoesWrongNamesTheCommandAndTheMend() async throws {
        let folder = try TemporaryFolder()
        let cases: [([String], String)] = [
            (
                ["no-such-speaker"],
                "speech: `no-such-speaker` cannot be started: No such file or directory; install it, or name another program in speech.command"
            ),
            (
                ["sh", "-c", "echo bad voice >&2; exit 2"],
                "speech: `sh` ended with status 2: bad voice; look at speech.command"
            ),
            (["true"], "speech: `true` gave nothing; speech.command has to write an audio file to its standard output"),
            (
                ["echo", "no audio"],
                "speech: what `echo` gave is not an audio file that can be played: "
            ),
            (
                ["sleep", "600"],
                "speech: `sleep` took longer than 1 s and was ended; allow more with speech.timeout, or speak less at a time"
            )
        ]
        for (command, message) in cases {
            let world = try World(folder) {
                $0.command = command
                $0.time = .seconds(1)
            }
            let failure = await world.failure()
            #expect(failure.hasPrefix(message), "\(failure)")
            #expect(!failure.contains("Good morning"), "a text may be secret")
            #expect(world.supplier.figures.speech.failed == 1)
            world.end()
        }
        // Nothing of it is kept.
        #expect(((try? Folder.names(in: folder.path("cache"))) ?? []) == [])
    }

    @Test func aSecretTextThatTheCommandRepeatsStaysSecret() async throws {
        for end in ["exit 2", "kill -TERM $$"] {
            let world = try World(try TemporaryFolder()) {
                $0.command = ["sh", "-c", "echo \"no voice says $1\" >&2; \(end)", "sh", "{text}"]
            }
            #expect(await world.failure("4711").contains(": no voice says 4711; look at speech.command"))
            let failure = await world.failure("4711", shown: "***")
            #expect(failure.contains(" (what it said is left out: the text is secret); look at speech.command"), "\(failure)")
            #expect(!failure.contains("4711"))
            world.end()
        }
    }

    @Test func manyWaitForOneAndNotMoreThanAllowedRun() async throws {
        let folder = try TemporaryFolder()
        let prompt = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../prompts/goodbye.wav").path
        let log = folder.path("runs")
        // One at a time: a second one would find the folder there.
        let script = "mkdir '\(folder.path("busy"))' || exit 9; echo >> '\(log)'; cat '\(prompt)'; rmdir '\(folder.path("busy"))'"
        let world = try World(folder) {
            $0.command = ["sh", "-c", script]
            $0.processes = 1
        }
        let supplier = world.supplier
        await withTaskGroup(of: Bool.self) { group in
            for index in 0..<40 {
                group.addTask {
                    let utterance = Utterance(text: "text \(index % 4)", language: "en", shown: "")
                    let result = await withCheckedContinuation { continuation in
                        supplier.file(of: .speech(utterance)) { continuation.resume(returning: $0) }
                    }
                    return (try? result.get()) != nil
                }
            }
            for await spoke in group { #expect(spoke) }
        }
        #expect(folder.text("runs") == "\n\n\n\n")
        world.end()
    }

    @Test func endingEndsTheCommand() async throws {
        let folder = try TemporaryFolder()
        let world = try World(folder) {
            $0.command = ["sleep", "600"]
            $0.time = .seconds(300)
        }
        let answer = Outcome<Result<String, PromptUnavailable>>()
        world.supplier.file(of: .speech(Utterance(text: "a", language: "en", shown: ""))) { answer.set($0) }
        world.end()
        guard case .failure(let failure) = answer.wait(within: .seconds(60)) else {
            Issue.record("it spoke")
            return
        }
        #expect(failure.reason.hasPrefix("speech: "))
    }

    @Test(.enabled(if: speaker != nil, "espeak-ng is not installed")) func aCallHearsIt() async throws {
        let flow = """
            flow: speaks
            sections:
              start:
                - answer
                - wait: 300ms
                - say: { text: "Good morning. You have reached the office, and nobody is here.", language: en-gb }
                - hangup
            """
        let server = try ServeProcess(flow: flow, configuration: "cache: { folder: cache }\n")
        let outcome = try await server.call(hearing: "speech")
        #expect(outcome.output.contains("\"passed\":true"), "\(outcome) \(server.stderr)")
        server.signal(SIGTERM)
        #expect(server.status() == 0)
    }
}
