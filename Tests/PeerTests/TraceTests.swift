// Traces of real calls, read by tshark: every packet is what it says, checksums included.

import Basics
import CallEngine
import Foundation
import Reactor
import SDP
import TestKit
import Testing

@Suite("traces", .serialized, .enabled(if: PeerProgram.isInstalled("tshark"), "tshark is not installed"))
struct TraceTests {
    /// What dissectors are asked to look at, which they do not by themselves.
    private static let strict = [
        "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"
    ]
    private static let complaints = "_ws.malformed || _ws.expert.severity >= 0x600000"

    private static func talk(_ call: Call) async throws {
        try await call.answer()
        try await call.say("welcome")
        try await call.sendDigits("1#", options: SendDigitsOptions(method: .rfc4733))
        try await call.stay(.seconds(10))
    }

    private func captures(in folder: TemporaryFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path("traces")).sorted().map { "traces/\($0)/call.pcap" }
    }

    @Test("messages and media of both sides are read without a complaint", arguments: ["udp", "tcp", "tls"])
    func wholeCall(_ transport: String) throws {
        let folder = try TemporaryFolder()
        let settings = TraceSettings(folder: folder.path("traces"))
        let tls = transport == "tls" ? try TLSContext(#require(TestCertificates.standard).settings("address")) : nil
        let engine = try EngineUnderTest(tls: tls, traces: settings) { call, _ in try await Self.talk(call) }
        let caller = try EngineUnderTest(tls: tls, traces: settings)
        let port = engine.port(try #require(EngineSettings.Listener.Transport(rawValue: transport)))
        caller.call(CallRequest(target: "sip:ivr@127.0.0.1:\(port);transport=\(transport)")) { call, _ in
            _ = try await call.wait(for: .answered, timeout: .seconds(5))
            try await call.stay(.seconds(3))
        }
        #expect(caller.reports(1).first?.error == nil)
        #expect(engine.reports(1).count == 1)
        // The answer to the BYE comes after the end of the call.
        for side in [caller, engine] { #expect(side.wait(.seconds(5)) { side.messages.count == 5 }) }
        caller.close()
        engine.close()
        let captures = try captures(in: folder)
        #expect(captures.count == 2)
        for capture in captures {
            func lines(_ filter: String) throws -> [String] {
                try Dissector.lines(of: capture, in: folder, Self.strict + ["-Y", filter])
            }
            #expect(try lines(Self.complaints) == [])
            #expect(try lines("sip").count == 5, "INVITE, 200, ACK, BYE, 200")
            #expect(try lines("sip.Call-ID && sdp").count == 2)
            #expect(try lines("rtp && !rtpevent").count > 200)
            #expect(try lines("rtpevent").count > 10)
            // Which keys they were is nobody's business.
            #expect(try lines("rtpevent.event_id != 255") == [])
            #expect(try lines("rtcp").count >= 1)
            let flow = try Dissector.lines(of: capture, in: folder, ["-q", "-z", "sip,stat"]).joined(separator: "\n")
            #expect(flow.contains("INVITE") && flow.contains("BYE") && flow.contains("200"), "\(flow)")
            let streams = try Dissector.lines(of: capture, in: folder, ["-q", "-z", "rtp,streams"])
            #expect(streams.filter { $0.contains("g711U") || $0.contains("PCMU") }.count == 2, "\(streams)")
            // No packet was lost on loopback, and none by the trace.
            #expect(streams.filter { $0.contains(" 0 (0.0%)") }.count == 2, "\(streams)")
        }
    }

    @Test("an encrypted call stays one: its keys are masked")
    func encrypted() throws {
        let folder = try TemporaryFolder()
        let engine = try EngineUnderTest { call, _ in try await Self.talk(call) }
        let caller = try EngineUnderTest(security: .required, traces: TraceSettings(folder: folder.path("traces")))
        caller.call(CallRequest(target: "sip:ivr@127.0.0.1:\(engine.udpPort)")) { call, _ in
            _ = try await call.wait(for: .answered, timeout: .seconds(5))
            try await call.stay(.seconds(2))
        }
        #expect(caller.reports(1).first?.info.media.srtp.isEmpty == false)
        #expect(engine.reports(1).count == 1)
        caller.close()
        engine.close()
        let capture = try #require(try captures(in: folder).first)
        let rows = folder.text(capture.replacingOccurrences(of: "call.pcap", with: "messages.txt")).split(separator: "\n")
            .filter { $0.hasPrefix("a=crypto:") }
        #expect(rows.count >= 2 && rows.allSatisfy { $0.contains("inline:xxxxxxxxxxxxxxxx") }, "\(rows)")
        // They can be counted as they are. That it cannot read their reports is a complaint as well.
        let packets = try Dissector.lines(of: capture, in: folder, Self.strict + ["-Y", "rtp"])
        #expect(packets.count > 150 && packets.allSatisfy { $0.contains("SRTP") }, "\(packets.first ?? "")")
        #expect(try Dissector.lines(of: capture, in: folder, Self.strict + ["-Y", "_ws.malformed"]) == [])
    }

    @Test("a challenged call shows no proof of the password, and lengths stay right")
    func masked() throws {
        let folder = try TemporaryFolder()
        let callee = try Sipp(.own("callee-challenges-401"))
        let caller = try EngineUnderTest(
            lines: [
                LineSettings(
                    name: "trunk", server: "127.0.0.1", port: callee.port, username: "trunk", password: Secret("a-secret"))
            ], traces: TraceSettings(folder: folder.path("traces")))
        caller.call(CallRequest(target: "100", line: "trunk")) { call, _ in
            _ = try await call.wait(for: .answered, timeout: .seconds(5))
            try await call.stay(.seconds(1))
        }
        #expect(caller.reports(1).count == 1)
        caller.close()
        let capture = try #require(try captures(in: folder).first)
        let proofs = try Dissector.lines(
            of: capture, in: folder,
            Self.strict + ["-Y", "sip.auth.digest.response", "-T", "fields", "-e", "sip.auth.digest.response"])
        #expect(!proofs.isEmpty && proofs.allSatisfy { $0.allSatisfy { $0 == "*" || $0 == "\"" } }, "\(proofs)")
        #expect(try Dissector.lines(of: capture, in: folder, Self.strict + ["-Y", Self.complaints]) == [])
        let text = folder.text(capture.replacingOccurrences(of: "call.pcap", with: "messages.txt"))
        #expect(text.contains("response=\"****") && text.contains("401 Unauthorized"))
    }
}
