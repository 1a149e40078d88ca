// `ringwright sipp` with SRTP and wide-band codecs at the engine: what it plays is heard, and its key, on the clock of its stream.

import CallEngine
import Foundation
import SDP
import TestKit
import Testing

@Suite("sipp with SRTP and Opus", .serialized)
struct SippEncryptedTests {
    /// A codec as the offer and `rtp_stream` name it, and the suite that the engine chooses.
    struct Case: CustomTestStringConvertible, Sendable {
        var codec: String
        var formats: String
        var stream: String
        var suite: String
        var testDescription: String { "\(codec), \(suite)" }
    }

    static let cases = [
        Case(codec: "opus", formats: "96 102", stream: "96,opus/48000/2", suite: "AES_CM_128_HMAC_SHA1_80"),
        Case(codec: "l16", formats: "97 103", stream: "97,L16/16000", suite: "AES_CM_128_HMAC_SHA1_32"),
        Case(codec: "pcmu", formats: "0 101", stream: "0", suite: "AES_CM_128_HMAC_SHA1_80")
    ]

    @Test("a WAV file is heard by the engine, and a key", arguments: cases) func heard(_ test: Case) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("said.wav")
        let engine = try EngineUnderTest(codecs: [test.codec], security: .required) { call, notes in
            try await call.answer()
            try call.startRecording(path, notes: notes)
            notes.add(try await call.keys(1, patience: .seconds(10)))
            try await call.say("beep")
        }
        defer { engine.close() }
        let json = folder.path("run.json")
        let caller = ScenarioPeer(
            ["-sf", Files.scenario("caller-encrypted")], target: engine.udpPort,
            more: [
                "-key", "format", test.formats, "-key", "suite", test.suite, "-key", "file", Files.prompt("probe"),
                "-key", "stream", test.stream, "-json", json
            ])
        caller.expect()
        let report = try #require(engine.reports(1).first)
        #expect(report.notes == ["7"] && report.error == nil, "\(report.notes)")
        #expect(report.info.media.srtp == test.suite)
        expectHeard("probe", in: [path], not: "welcome")
        #expect(engine.engine.mediaCounters.droppedUnauthentic == 0)
        let text = folder.text("run.json")
        #expect(text.contains("\"srtp\":{\"\(test.suite)\":1},\"unauthentic\":0"), "\(text)")
        #expect(text.contains("\"one_way\":0"))
    }
}
