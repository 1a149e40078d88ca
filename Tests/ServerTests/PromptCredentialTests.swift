// `prompts.credentials`: what the configuration takes and refuses, and a server that gives its prompts to nobody else; and what it plays
// of files whose end is not told.

import Audio
import Basics
import CallEngine
import FlowEngine
import Foundation
import Server
import TestKit
import Testing

@Suite struct PromptCredentialTests {
    private func read(_ text: String) -> (configuration: Configuration, findings: [String]) {
        let sources = ConfigurationSources(
            environment: ["TOKEN": "of-the-token", "EMPTY": "", "LINES": "a\nb"],
            readFile: { ["/run/secrets/word": "of-the-file\n"][$0] }, fileExists: { _ in false })
        let result = ConfigurationReader.read(text: text, file: "ringwright.yaml", overrides: [], sources: sources)
        return (result.configuration, result.findings.map(\.description))
    }

    @Test func theyAreReadAndNeverShown() {
        let (configuration, findings) = read(
            """
            prompts:
              credentials:
                - { for: "https://a.example.com/*", bearer: "${env.TOKEN}" }
                - { for: "https://b.example.com/ivr/*", username: bot, password: "${file./run/secrets/word}" }
            """)
        #expect(findings == [])
        #expect(
            configuration.promptCredentials == [
                PromptCredential(for: "https://a.example.com/*", .bearer(Secret("of-the-token"))),
                PromptCredential(
                    for: "https://b.example.com/ivr/*", .basic(username: "bot", password: Secret("of-the-file")))
            ])
        #expect(!"\(configuration)".contains("of-the-"))
        let change = ConfigurationChange(from: Configuration(), to: configuration)
        #expect(change.applied == ["prompts.credentials"] && change.atRestart == [])
    }

    @Test(arguments: [
        ("{ bearer: \"${env.TOKEN}\" }", "`prompts.credentials`: which URLs is it for?"),
        ("{ for: \"https://a.example/*\" }", "`prompts.credentials` has either `bearer`, or `username` and `password`"),
        (
            "{ for: \"https://a.example/*\", bearer: \"${env.TOKEN}\", username: bot }",
            "`prompts.credentials` has either `bearer`, or `username` and `password`"
        ),
        ("{ for: \"sip:a\", bearer: \"${env.TOKEN}\" }", "`sip:a` begins with neither https:// nor http://"),
        ("{ for: \"http://a.example/*\", bearer: \"${env.TOKEN}\" }", "over http everybody on the way reads the secret"),
        ("{ for: \"https://a.example/*\", bearer: word }", "a password is written out"),
        ("{ for: \"https://a.example/*\", bearer: \"${env.EMPTY}\" }", "the password is empty"),
        ("{ for: \"https://a.example/*\", bearer: \"${env.LINES}\" }", "a line break or another control sign cannot be sent"),
        (
            "{ for: \"https://a.example/*\", username: \"a:b\", password: \"${env.TOKEN}\" }",
            "`prompts.credentials.username` holds a colon, which ends a user name (RFC 7617)"
        ),
        ("{ for: \"https://a.example/*\", tokn: a }", "`tokn` is unknown in `prompts.credentials`"),
        ("word", "`prompts.credentials` is a mapping")
    ])
    func mistakesAreTold(item: String, message: String) {
        let findings = read("prompts: { credentials: [ \(item) ] }").findings
        #expect(findings.contains { $0.contains(message) }, "\(findings)")
        #expect(!findings.contains { $0.contains("of-the-") })
    }

    @Test(arguments: ["bearer: \"${env.NONE}\"", "username: bot, password: \"${file./none}\""])
    func oneMistakeIsToldOnce(proof: String) {
        let findings = read("prompts: { credentials: [ { for: \"https://a.example/*\", \(proof) } ] }").findings
        #expect(findings.count == 1, "\(findings)")
    }

    /// Gives `tone.wav` and `tone.ogg` to who knows a word, without their length and, where the path says so, not to the end; `moved`
    /// leads to the other server.
    private static let server = """
        import sys
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                if self.headers.get("Authorization") != sys.argv[1]:
                    self.send_error(401)
                    return
                if self.path.startswith("/moved"):
                    self.send_response(302)
                    self.send_header("Location", sys.argv[2] + "/tone.wav")
                    self.end_headers()
                    return
                body = open(self.path.split("/")[-1], "rb").read()
                if "/cut/" in self.path:
                    body = body[:len(body) // 2]
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(f"port {server.server_address[1]}", flush=True)
        server.serve_forever()
        """

    private static func start(_ folder: TemporaryFolder, _ arguments: [String]) throws -> (program: PeerProgram, base: String) {
        try folder.write(server, to: "server.py")
        let python = try #require(PeerProgram.path(of: "python3"))
        let program = try PeerProgram(path: python, ["-u", "server.py"] + arguments, in: folder)
        try #require(program.wait(.seconds(30)) { $0.output.contains(/port [0-9]+\n/) }, "\(program.output)")
        let port = program.output.components(separatedBy: "port ")[1].prefix { $0.isNumber }
        return (program, "http://127.0.0.1:\(port)")
    }

    @Test(.enabled(if: PeerProgram.path(of: "python3") != nil, "python3 is not installed"))
    func aServerGetsThemAndNoOther() async throws {
        let folder = try TemporaryFolder()
        for ending in ["wav", "ogg"] {
            let writer = try AudioFileFormat(path: folder.path("tone.\(ending)"))
                .writer(path: folder.path("tone.\(ending)"), rate: 16000, channels: 1)
            let clip = ToneGenerator.clip(Tone(frequencies: [440]), rate: 16000, length: .seconds(2))
            clip.samples.withUnsafeBufferPointer { _ = writer.append($0) }
            _ = writer.finish()
        }
        let other = try Self.start(folder, ["Bearer of-the-other", "-"])
        // `bot:of-the-file` in base 64.
        let first = try Self.start(folder, ["Basic Ym90Om9mLXRoZS1maWxl", other.base])
        try folder.write("of-the-file\n", to: "secret")
        let flow = """
            flow: plays
            sections:
              start:
                - answer
                - wait: 300ms
                - play: { file: "\(first.base)/moved", on: { failed: { log: "moved: ${result.error}" } } }
                - play: { file: "\(first.base)/cut/tone.wav", on: { failed: { log: "wave: ${result.error}" } } }
                - play: { file: "\(first.base)/cut/tone.ogg", on: { failed: { log: "opus: ${result.error}" } } }
                - play: "\(first.base)/tone.ogg"
                - play: "\(first.base)/tone.wav"
                - hangup
            """
        let configuration = """
            allow: { request: [ "\(first.base)/*", "\(other.base)/*" ] }
            prompts:
              credentials:
                - { for: "\(first.base)/*", username: bot, password: "${file.\(folder.path("secret"))}" }
                - { for: "\(other.base)/*", bearer: of-the-other }
            cache: { folder: cache, megabytes: 10 }
            """
        let server = try ServeProcess(flow: flow, configuration: configuration)
        let outcome = try await server.call(hearing: "{ tone: { frequencies: [ 440 ] } }")
        #expect(outcome.output.contains("\"passed\":true"), "\(outcome) \(server.stderr)")
        #expect(server.says("moved: \(first.base)/moved: the server answered 401 (prompts.credentials)"), "\(server.stderr)")
        #expect(
            server.says("wave: \(first.base)/cut/tone.wav: what the server sent was cut short on the way"), "\(server.stderr)")
        #expect(server.says("opus: \(first.base)/cut/tone.ogg: what the server sent was cut short on the way"))
        #expect(!server.stderr.contains("tone.ogg: the server") && !server.stderr.contains("of-the-"), "\(server.stderr)")
        let cache = server.folder.appending(path: "cache").path()
        let kept = try FileManager.default.contentsOfDirectory(atPath: cache)
        #expect(kept.filter { $0.hasSuffix(".wav") || $0.hasSuffix(".ogg") }.count == 2)
        for name in kept {
            let octets = FileManager.default.contents(atPath: "\(cache)/\(name)") ?? Data()
            #expect(
                !name.contains("Ym90") && octets.range(of: Data("of-the-".utf8)) == nil
                    && octets.range(of: Data("Ym90".utf8)) == nil)
        }
        server.signal(SIGTERM)
        #expect(server.status() == 0)
    }
}
