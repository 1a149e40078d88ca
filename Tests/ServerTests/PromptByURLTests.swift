// Prompts by URL as a server plays them: Python serves the files, one process answers a call with them, another one listens.

import Audio
import CallEngine
import Foundation
import Reactor
import Server
import TestKit
import Testing
import Web

/// Python's own file server, for a folder.
private struct FileServer {
    let program: PeerProgram
    let base: String

    /// nil: there is no Python.
    init?(of folder: TemporaryFolder) throws {
        guard let python = PeerProgram.path(of: "python3") else { return nil }
        program = try PeerProgram(path: python, ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"], in: folder)
        try #require(program.waitForOutput("port ", times: 1, .seconds(30)), "\(program.output)")
        let port = program.output.components(separatedBy: "port ")[1].prefix { $0.isNumber }
        base = "http://127.0.0.1:\(port)"
    }
}

@Suite(.enabled(if: PeerProgram.path(of: "python3") != nil, "python3 is not installed")) struct PromptByURLTests {
    /// Two seconds of 440 Hz in each format of recordings, and what is no audio.
    private static func files() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for ending in ["wav", "flac", "ogg"] {
            let format = AudioFileFormat(path: folder.path("tone.\(ending)"))
            let writer = try format.writer(path: folder.path("tone.\(ending)"), rate: 16000, channels: 2)
            let clip = ToneGenerator.clip(Tone(frequencies: [440]), rate: 16000, length: .seconds(2))
            clip.samples.flatMap { [$0, $0] }.withUnsafeBufferPointer { _ = writer.append($0) }
            _ = writer.finish()
        }
        try folder.write([UInt8](repeating: 1, count: 2000), to: "frames.g729")
        try folder.write("<html>not found</html>", to: "page.html")
        return folder
    }

    private func file(_ supplier: PromptSupplier, _ url: String) async -> Result<String, PromptUnavailable> {
        await withCheckedContinuation { continuation in
            supplier.file(of: .web(url: url, shown: "it")) { continuation.resume(returning: $0) }
        }
    }

    @Test func everyFormatIsGotAndWhatIsNoneIsTold() async throws {
        let folder = try Self.files()
        let server = try #require(try FileServer(of: folder))
        let cache = try TemporaryFolder()
        var configuration = Configuration()
        configuration.cache.folder = cache.path("prompts")
        configuration.allow = Allowance(request: ["\(server.base)/*"])
        let client = HTTPClient()
        let supplier = try PromptSupplier.forCommand(configuration, client: client)
        defer {
            client.stopAndWait()
            supplier.stop()
        }
        for name in ["tone.wav", "tone.flac", "tone.ogg"] {
            let path = try await file(supplier, "\(server.base)/\(name)").get()
            #expect(path.hasPrefix(cache.path("prompts/")))
            #expect(try PromptFile.read(path).length == .seconds(2), "\(name)")
        }
        // Frames show by the ending alone, which the file keeps.
        let frames = try await file(supplier, "\(server.base)/frames.g729?x=1").get()
        #expect(frames.hasSuffix(".g729"))
        #expect(try PromptFile.length(of: frames) == .seconds(2))
        // Last-Modified is all that this server tells: a guess keeps it for a while, or it is confirmed.
        _ = try await file(supplier, "\(server.base)/tone.wav").get()
        #expect(supplier.figures.web.fetched == 4 && supplier.figures.web.kept + supplier.figures.web.confirmed == 1)
        #expect(supplier.figures.octets > 10_000)
        let page = await file(supplier, "\(server.base)/page.html")
        guard case .failure(let failure) = page else {
            Issue.record("a page was taken for a prompt")
            return
        }
        #expect(failure.reason.hasPrefix("it: what the server sent (text/html) is not an audio file that can be played"))
        #expect(await file(supplier, "\(server.base)/none.wav") == .failure(PromptUnavailable("it: the server answered 404")))
        #expect(
            await file(supplier, "http://127.0.0.2:9/a.wav")
                == .failure(PromptUnavailable("it: the configuration does not allow requests to it (allow.request)")))
    }

    @Test func aCallHearsItAndGoesOnWithoutIt() async throws {
        let folder = try Self.files()
        let files = try #require(try FileServer(of: folder))
        let flow = """
            flow: plays
            sections:
              start:
                - answer
                - wait: 300ms
                - play: "\(files.base)/tone.flac?token=word"
                - play: { file: "\(files.base)/none.wav?token=word", on: { failed: { log: "went on: ${result.error}" } } }
                - hangup
            """
        let configuration = """
            allow: { request: [ "\(files.base)/*" ] }
            cache: { folder: cache, megabytes: 10 }
            """
        let server = try ServeProcess(flow: flow, configuration: configuration)
        let outcome = try await server.call(hearing: "{ tone: { frequencies: [ 440 ] } }")
        #expect(outcome.output.contains("\"passed\":true"), "\(outcome) \(server.stderr)")
        #expect(server.says("went on: \(files.base)/none.wav: the server answered 404"), "\(server.stderr)")
        #expect(!server.stderr.contains("word"), "what stands in a query may be secret")
        let kept = try FileManager.default.contentsOfDirectory(atPath: server.folder.appending(path: "cache").path())
        #expect(kept.filter { $0.hasSuffix(".flac") }.count == 1)
        server.signal(SIGTERM)
        #expect(server.status() == 0)
    }
}
