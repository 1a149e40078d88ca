// Calls between two engines whose audio and keys go through rtpengine: in the clear, encrypted on one side, one way, to other ports in
// the middle of the call, and with descriptions that name the wrong ones.

import Basics
import CallEngine
import Foundation
import SDP
import TestKit
import Testing

@Suite("rtpengine", .serialized, HeavyPeer.rtpengine.isWanted)
struct RTPEngineTests {
    /// A call through it, and what both sides heard of the other.
    struct Outcome {
        var calling: CallReport
        var called: CallReport
        /// The addresses that descriptions named.
        var ports: [UInt16]
        var output: String
    }

    /// Both sides speak at once, each hears the other; then the caller presses 7 and #, the callee 5.
    /// - Parameter between: what the callee does before that.
    static func call(
        _ way: String, codec: String = "pcmu", security: MediaSecurity = .off, keys: Bool = true, folder: TemporaryFolder,
        between: @escaping @Sendable (Call) async throws -> Void = { _ in }
    ) throws -> Outcome {
        let callee = try EngineUnderTest(codecs: [codec], security: security) { call, notes in
            try await call.answer()
            try await between(call)
            try call.startRecording(folder.path("callee.wav"), notes: notes)
            try await call.stay(.milliseconds(500))
            try await call.say("probe")
            if keys {
                notes.add(try await call.keys(2))
                try await call.sendDigits("5", options: SendDigitsOptions(method: .rfc4733))
            }
            try await call.stay(.seconds(10))
        }
        defer { callee.close() }
        let relay = try RTPEngine(first: callee.uri("ivr"))
        defer { relay.stop() }
        var line = relay.line
        line.security = .off
        let caller = try EngineUnderTest(lines: [line], codecs: [codec], security: .off)
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:\(way)@ringwright.test", line: "proxy")) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try call.startRecording(folder.path("caller.wav"), notes: notes)
            try await call.stay(.milliseconds(500))
            try await call.say("welcome")
            if keys {
                try await call.sendDigits("7#", options: SendDigitsOptions(method: .rfc4733))
                notes.add(try await call.keys(1))
            }
            // Without keys nothing else tells that the callee has said all.
            try await call.stay(keys ? .milliseconds(300) : .seconds(2))
        }
        let calling = try #require(caller.reports(1, within: .seconds(20)).first, "\(relay.output)")
        let called = try #require(callee.reports(1, within: .seconds(5)).first, "\(relay.output)")
        for report in [calling, called] {
            #expect(report.end == CallEnd(by: .caller, cause: .normal) && report.error == nil, "\(relay.output)")
        }
        #expect(caller.engine.mediaCounters.droppedUnauthentic == 0 && callee.engine.mediaCounters.droppedUnauthentic == 0)
        return Outcome(calling: calling, called: called, ports: relay.ports, output: relay.output)
    }

    /// - Parameter mostLost: packets that may be lost on the way.
    private static func expectBothHeard(
        _ outcome: Outcome, _ folder: TemporaryFolder, mostLost: Int64 = 1, _ place: SourceLocation = #_sourceLocation
    ) {
        expectHeard("welcome", in: [folder.path("callee.wav")], not: "probe", place)
        expectHeard("probe", in: [folder.path("caller.wav")], not: "welcome", place)
        #expect(outcome.calling.notes == ["reached", "5"], "\(outcome.output)", sourceLocation: place)
        #expect(outcome.called.notes == ["7#"], "\(outcome.output)", sourceLocation: place)
        for media in [outcome.calling.info.media, outcome.called.info.media] {
            #expect(media.lost <= mostLost && media.oneWay == nil, "\(media)", sourceLocation: place)
        }
    }

    @Test("both hear each other and each other's keys", arguments: ["pcmu", "pcma"]) func plain(codec: String) throws {
        let folder = try TemporaryFolder()
        let outcome = try Self.call("plain", codec: codec, folder: folder)
        Self.expectBothHeard(outcome, folder)
        #expect(outcome.calling.info.media.srtp == "" && outcome.called.info.media.srtp == "")
        #expect(Set(outcome.ports).count == 2)
    }

    @Test("the caller speaks RTP, the callee SRTP and nothing else") func secure() throws {
        let folder = try TemporaryFolder()
        let outcome = try Self.call("secure", security: .required, folder: folder)
        Self.expectBothHeard(outcome, folder)
        #expect(outcome.calling.info.media.srtp == "")
        #expect(outcome.called.info.media.srtp.hasPrefix("A"), "\(outcome.output)")
    }

    @Test("what the caller sends is lost on the way: told by the callee, who is still heard") func oneWay() throws {
        let folder = try TemporaryFolder()
        let outcome = try Self.call("oneway", keys: false, folder: folder)
        expectHeard("probe", in: [folder.path("caller.wav")], not: "welcome")
        #expect(outcome.called.info.media.oneWay == .hearsNothing, "\(outcome.output)")
        #expect(outcome.called.info.media.received == 0)
        #expect(outcome.calling.info.media.received > 100)
    }

    @Test("a re-INVITE gets other ports of the relay's: both sides go there, and hear nobody at the old ones") func moves() throws
    {
        let folder = try TemporaryFolder()
        let outcome = try Self.call("moves", folder: folder) { call in
            try await call.stay(.milliseconds(300))
            try await call.hold(music: nil)
            try await call.unhold()
        }
        // While the ports change, what is on its way to the old ones is lost: half a second of it at most.
        Self.expectBothHeard(outcome, folder, mostLost: 25)
        #expect(Set(outcome.ports).count > 2, "\(outcome.ports)")
    }

    /// rtpengine codes it by libraries of others: our frames, their order and their clock are judged by its decoder.
    @Test("G.729 that another encoder made goes through us to another decoder, and is understood") func g729() throws {
        let folder = try TemporaryFolder()
        let called = try Self.callInG729 { call in
            call.startEcho()
            try await call.stay(.seconds(10))
        } caller: { call, notes in
            try call.startRecording(folder.path("echoed.wav"), notes: notes)
            try await call.stay(.milliseconds(300))
            try await call.say("welcome")
            try await call.stay(.milliseconds(700))
        }
        expectHeard("welcome", in: [folder.path("echoed.wav")], not: "probe", least: 0.7)
        #expect(called.info.media.received > 100 && called.info.media.lost <= 1)
    }

    /// Both the encoder of the file and the decoder of what we play are others'.
    @Test("a file of G.729 is played as it is, and another decoder understands it") func g729File() throws {
        let folder = try TemporaryFolder()
        // What rtpengine encodes of a prompt is taken from the callee's trace.
        try Self.callInG729(traces: TraceSettings(folder: folder.path("traces"))) { call in
            try await call.stay(.seconds(10))
        } caller: { call, _ in
            try await call.stay(.milliseconds(300))
            try await call.say("welcome")
            try await call.stay(.milliseconds(300))
        }
        let call = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path("traces")).first)
        let capture = try Data(contentsOf: folder.url.appending(path: "traces/\(call)/call.pcap"))
        let frames = Self.g729(in: Array(capture))
        #expect(frames.count > 1000 && frames.count % 10 == 0)
        try folder.write(frames, to: "welcome.g729")
        try Self.callInG729 { call in
            try await call.stay(.milliseconds(500))
            let end = try await call.play(PlaybackRequest([.file(path: folder.path("welcome.g729"))])).finished()
            #expect("\(end)" == "finished")
            try await call.stay(.milliseconds(300))
        } caller: { call, notes in
            try call.startRecording(folder.path("played.wav"), notes: notes)
            try await call.stay(.seconds(10))
        }
        expectHeard("welcome", in: [folder.path("played.wav")], not: "probe", least: 0.7)
    }

    /// A call whose callee speaks G.729 with rtpengine, and its caller A-law; what the callee reports.
    @discardableResult private static func callInG729(
        traces: TraceSettings? = nil, callee answer: @escaping @Sendable (Call) async throws -> Void,
        caller place: @escaping TestFlow
    ) throws -> CallReport {
        let callee = try EngineUnderTest(codecs: ["g729"], security: .off, traces: traces) { call, _ in
            try await call.answer()
            try await answer(call)
        }
        defer { callee.close() }
        let relay = try RTPEngine(first: callee.uri("ivr"))
        defer { relay.stop() }
        let caller = try EngineUnderTest(lines: [relay.line], codecs: ["pcma"], security: .off)
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:g729@ringwright.test", line: "proxy")) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try await place(call, notes)
        }
        let calling = try #require(caller.reports(1, within: .seconds(20)).first, "\(relay.output)")
        let called = try #require(callee.reports(1, within: .seconds(5)).first, "\(relay.output)")
        #expect(calling.info.codec == "PCMA/8000" && called.info.codec == "G729/8000", "\(relay.output)")
        #expect(calling.error == nil && called.error == nil)
        return called
    }

    /// The frames of speech that came in a capture, in their order: of packets over IPv4 whose payload type is 18.
    private static func g729(in capture: [UInt8]) -> [UInt8] {
        var frames: [UInt8] = []
        var at = 24
        while at + 16 <= capture.count {
            let length = capture[at + 8..<at + 12].reduce(0) { $0 << 8 | Int($1) }
            // The record's header, then those of IP, UDP and RTP.
            let packet = capture.dropFirst(at + 16).prefix(length).dropFirst(28)
            if packet.count > 12, packet.dropFirst().first.map({ $0 & 0x7F }) == 18 {
                let payload = packet.dropFirst(12)
                // A frame of two octets tells a pause.
                frames += payload.prefix(payload.count / 10 * 10)
            }
            at += 16 + length
        }
        return frames
    }

    @Test("answers name ports where nobody is: what comes from there tells where to send") func latches() throws {
        let folder = try TemporaryFolder()
        let outcome = try Self.call("nat", folder: folder)
        Self.expectBothHeard(outcome, folder)
    }
}
