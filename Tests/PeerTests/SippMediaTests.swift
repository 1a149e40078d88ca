// What sipp hears and says: its echo brings our prompts back, its A-law file must be in our recording, its keys (RFC 4733) go through
// the menu.

import Audio
import CallEngine
import Glibc
import TestKit
import Testing

@Suite("sipp, media", .serialized, .enabled(if: Sipp.isInstalled, "sipp is not installed"))
struct SippMediaTests {
    /// Plays the welcome while it records what comes back.
    static func echo(into path: String, after wait: Duration = .milliseconds(200)) -> TestFlow {
        { call, notes in
            if call.info.direction == .inbound {
                try await call.answer()
            } else {
                notes.add("\(try await call.wait(for: .earlyMedia, timeout: .seconds(8)))")
            }
            try call.startRecording(path, notes: notes)
            try await call.stay(wait)
            try await call.say("welcome")
            notes.add("said")
            try await call.stay(.seconds(call.info.direction == .inbound ? 10 : 1))
        }
    }

    /// What came back holds our prompt.
    static func expectHeard(_ prompt: String, in report: CallReport?, _ place: SourceLocation = #_sourceLocation) throws {
        let report = try #require(report, sourceLocation: place)
        let recording = try #require(report.recording, sourceLocation: place)
        #expect(recording.complete, "\(recording.detail)", sourceLocation: place)
        PeerTests.expectHeard(prompt, in: [recording.path], not: prompt == "probe" ? "menu" : "probe", least: 0.9, place)
        #expect(report.error == nil, sourceLocation: place)
    }

    @Test(
        "a caller hears our prompt, whatever it does to the session before: B003, B007, B008",
        arguments: [
            ("caller-echo", Sipp.Transport.tcp), ("caller-offerless", .udp), ("caller-sdp-in-ack", .udp), ("caller-holds", .udp),
            ("caller-reinvites-without-offer", .udp)
        ])
    func caller(_ scenario: String, _ transport: Sipp.Transport) throws {
        let folder = try TemporaryFolder()
        // A caller that changes the session first hears the prompt once that is done.
        let wait: Duration = scenario == "caller-holds" ? .milliseconds(1500) : .milliseconds(600)
        let engine = try EngineUnderTest(flow: Self.echo(into: folder.path("heard.wav"), after: wait))
        defer { engine.close() }
        let report = try sippCalls(scenario, transport: transport, engine: engine, more: ["-rtp_echo"])
        try Self.expectHeard("welcome", in: report)
        let media = try #require(report).info.media
        #expect(media.received > 50)
        // While the call is held, what is still on its way is not counted as received.
        #expect(media.lost <= (scenario == "caller-holds" ? 3 : 0))
    }

    @Test(
        "a callee hears our prompt, also before it answers",
        arguments: [("callee-echo", Sipp.Transport.tcp), ("callee-early-media", .udp)])
    func callee(_ scenario: String, _ transport: Sipp.Transport) throws {
        let folder = try TemporaryFolder()
        let engine = try EngineUnderTest()
        defer { engine.close() }
        let report = try sippIsCalled(
            scenario, transport: transport, engine: engine, more: ["-rtp_echo"], flow: Self.echo(into: folder.path("heard.wav")))
        try Self.expectHeard("welcome", in: report)
    }

    @Test("what sipp says from an A-law file is in our recording")
    func speech() throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.aLaw("probe"), to: "speech.alaw")
        let path = folder.path("said.wav")
        let engine = try EngineUnderTest { call, notes in
            try call.startRecording(path, notes: notes)
            try await call.answer()
            try await call.stay(.seconds(10))
        }
        defer { engine.close() }
        let report = try sippCalls("caller-speaks", engine: engine, folder: folder)
        try Self.expectHeard("probe", in: report)
        #expect(report?.info.codec == "PCMA/8000")
    }

    // sipp sends keys over a raw socket.
    @Test(
        "a key that sipp presses cuts the menu short, and the choice is said",
        .enabled(if: geteuid() == 0, "sipp sends keys as root only"))
    func menu() throws {
        let engine = try EngineUnderTest { call, notes in
            try await call.answer()
            let menu = call.play(PlaybackRequest([.file(path: Files.prompt("menu"))]))
            let key = try await call.keys(1) { menu.stop() }
            notes.add(key)
            notes.add(menu.end == .stopped ? "cut" : "whole")
            try await call.say(key == "1" ? "sales" : "not-valid")
            notes.add("said")
        }
        defer { engine.close() }
        let report = try #require(try sippCalls("caller-digits", engine: engine))
        #expect(report.notes == ["1", "cut", "said"])
        #expect(report.keys == "1")
        #expect(report.error == nil)
        #expect(report.end == CallEnd(by: .callee, cause: .normal))
    }

    /// A prompt as octets of A-law at 8 kHz.
    static func aLaw(_ prompt: String) throws -> [UInt8] {
        let samples = try PromptFile.read(Files.prompt(prompt)).resampled(to: 8000).samples
        return samples.map { G711Law.a.encode($0) }
    }
}
