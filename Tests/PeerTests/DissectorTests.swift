// Whole calls as tshark's dissectors see them: nothing that we send may be marked as malformed or wrong.

import CallEngine
import Foundation
import SDP
import TestKit
import Testing

@Suite("tshark", .serialized, .enabled(if: Capture.isPermitted, "tshark is not installed, or may not capture on loopback"))
struct DissectorTests {
    @Test(
        "a call with keys, hold and RTCP has no packet that a dissector complains about",
        arguments: Peers.isAll ? Sipp.Transport.allCases : [.udp])
    func wholeCall(_ transport: Sipp.Transport) throws {
        let engine = try EngineUnderTest { call, _ in
            try call.ring()
            try await call.answer()
            try await call.say("welcome")
            try await call.sendDigits("1#", options: SendDigitsOptions(method: .rfc4733))
            try await call.hold(music: nil)
            try await call.unhold()
            // The first RTCP report goes out within a few seconds (RFC 3550 section 6.2).
            try await call.stay(.seconds(3))
        }
        let caller = try EngineUnderTest()
        defer {
            caller.close()
            engine.close()
        }
        let capture = try Capture()
        let port = transport == .udp ? engine.udpPort : engine.tcpPort
        caller.call(CallRequest(target: "sip:ivr@127.0.0.1:\(port);transport=\(transport)")) { call, _ in
            _ = try await call.wait(for: .answered, timeout: .seconds(5))
            try await call.stay(.seconds(12))
        }
        #expect(engine.reports(1, within: .seconds(15)).count == 1)
        #expect(caller.reports(1, within: .seconds(2)).first?.keys == "1#")
        let packets = try capture.finish(sip: [engine.udpPort, engine.tcpPort, caller.udpPort, caller.tcpPort])
        let own = transport == .udp ? "(udp.port == \(port))" : "(tcp.port == \(port))"
        let rtp = Self.mediaPorts(engine.messages.map(\.text)).map { "udp.port == \($0)" }.joined(separator: " || ")
        let rtcp = Self.mediaPorts(engine.messages.map(\.text)).map { "udp.port == \($0 + 1)" }.joined(separator: " || ")
        #expect(try packets.count("sip && \(own)") >= 10)
        #expect(try packets.count("sdp && \(own)") >= 4)
        #expect(try packets.count("rtp && (\(rtp))") > 200)
        #expect(try packets.count("rtpevent && (\(rtp))") > 10)
        #expect(try packets.count("rtcp && (\(rtcp))") >= 2)
        let complaints = "_ws.malformed || _ws.expert.severity >= 0x600000"
        #expect(try packets.lines("(\(own) || \(rtp) || \(rtcp)) && (\(complaints))") == [])
    }

    @Test("pauses are told as comfort noise on the wire, and what plays after them is marked")
    func comfortNoise() throws {
        let engine = try EngineUnderTest { call, _ in
            try await call.answer()
            try await call.stay(.seconds(2))
            try await call.say("welcome")
        }
        let caller = try EngineUnderTest(comfortNoise: .offered)
        defer {
            caller.close()
            engine.close()
        }
        let capture = try Capture()
        caller.call(CallRequest(target: "sip:ivr@127.0.0.1:\(engine.udpPort)")) { call, _ in
            _ = try await call.wait(for: .answered, timeout: .seconds(5))
            try await call.stay(.seconds(12))
        }
        #expect(engine.reports(1, within: .seconds(15)).count == 1)
        let packets = try capture.finish(sip: [engine.udpPort, caller.udpPort])
        let ports = Self.mediaPorts(engine.messages.map(\.text)).map { "udp.port == \($0)" }.joined(separator: " || ")
        let noise = "rtp.p_type == 13 && (\(ports))"
        // Both sides tell two seconds of silence; -65 dBov, without a spectrum.
        #expect(try packets.count(noise) >= 8)
        #expect(try packets.count("\(noise) && rtp.payload == 41") == packets.count(noise))
        #expect(try packets.count("\(noise) && rtp.marker == 1") == 0)
        #expect(try packets.lines(noise).allSatisfy { $0.contains("Comfort noise") })
        #expect(try packets.count("rtp.p_type == 0 && rtp.marker == 1 && (\(ports))") == 1)
        #expect(try packets.lines("(\(ports)) && (_ws.malformed || _ws.expert.severity >= 0x600000)") == [])
    }

    @Test("an offer before the answer, several parts in a body and a refused description bring no complaint")
    func descriptions() throws {
        let engine = try EngineUnderTest { call, _ in
            try call.progress()
            // Who takes no UPDATE is not held.
            try? await call.hold(music: nil)
            try await call.answer()
            try await call.stay(.seconds(12))
        }
        defer { engine.close() }
        let capture = try Capture()
        for scenario in ["caller-held-early", "caller-multipart"] { try sippCalls(scenario, engine: engine) }
        try sippCalls("caller-no-codec", engine: engine, calls: 0)
        let packets = try capture.finish(sip: [engine.udpPort])
        let ours = "sip && udp.srcport == \(engine.udpPort)"
        #expect(try packets.count("\(ours) && sip.Method == \"UPDATE\" && sdp") >= 1)
        #expect(try packets.count("\(ours) && sip.Status-Code == 415 && sip.Accept contains \"multipart/mixed\"") >= 1)
        #expect(try packets.count("\(ours) && sip.Status-Code == 488 && sip.Warning contains \"305\"") >= 1)
        #expect(
            try packets.count("sip && udp.dstport == \(engine.udpPort) && sdp && mime_multipart") >= 2, "it finds the same parts")
        #expect(try packets.lines("\(ours) && (_ws.malformed || _ws.expert.severity >= 0x600000)") == [])
    }

    @Test("calls that go on by a bridge and by a redirection tell their history, and texts go, without a complaint")
    func history() throws {
        let last = try EngineUnderTest { call, _ in
            try await call.answer()
            try await call.stay(.milliseconds(300))
            call.hangUp(.normal)
        }
        let target = "sip:last@127.0.0.1:\(last.udpPort)"
        let busy = "sip:busy@127.0.0.1:\(last.udpPort)"
        let middle = try EngineUnderTest { call, notes in
            if call.info.to.user == "moves" { return try call.redirect(to: [target]) }
            let targets = ["line:nowhere/1", "sip:moves@127.0.0.1:9", target]
            notes.add("\(try await call.bridge(BridgeRequest(targets: targets, order: .sequence)).outcome)")
            _ = try await call.send(TextRequest("good bye", to: busy))
        }
        let caller = try EngineUnderTest()
        defer { for engine in [last, middle, caller] { engine.close() } }
        let capture = try Capture()
        let headers = [CallHeader(name: "History-Info", value: "<sip:boss@h?Privacy=history&Reason=SIP%3Bcause%3D302>;index=1")]
        caller.call(CallRequest(target: "sip:100@127.0.0.1:\(middle.udpPort)", headers: headers)) { call, _ in
            _ = try await call.wait(for: .answered, timeout: .seconds(5))
            _ = try await call.send(TextRequest("hello"))
            try await call.stay(.seconds(12))
        }
        #expect(middle.reports(1).first?.notes == ["answered"])
        #expect(caller.reports(1, within: .seconds(3)).count == 1)
        caller.call(CallRequest(target: "sip:moves@127.0.0.1:\(middle.udpPort)")) { call, _ in
            _ = try await call.wait(for: .answered, timeout: .seconds(5))
        }
        #expect(caller.reports(2, within: .seconds(3)).count == 2)
        let packets = try capture.finish(sip: [last.udpPort, middle.udpPort, caller.udpPort])
        let own = [last, middle, caller].map { "udp.port == \($0.udpPort)" }.joined(separator: " || ")
        #expect(
            try packets.count("sip contains \"History-Info\" && sip.Method == \"INVITE\" && udp.dstport == \(last.udpPort)") >= 1)
        #expect(try packets.count("sip contains \"History-Info\" && sip.Status-Code == 302") >= 1)
        #expect(try packets.count("sip.Method == \"MESSAGE\"") >= 2)
        #expect(try packets.lines("(\(own)) && (_ws.malformed || _ws.expert.severity >= 0x600000)") == [])
    }

    /// The ports of the audio lines of all descriptions.
    private static func mediaPorts(_ messages: [String]) -> [UInt16] {
        let lines = messages.flatMap { $0.split(separator: "\r\n") }.filter { $0.hasPrefix("m=audio ") }
        return Set(lines.compactMap { UInt16($0.split(separator: " ")[1]) }).filter { $0 > 0 }.sorted()
    }
}

/// Packets of the loopback interface, captured by tshark.
final class Capture {
    static let isPermitted: Bool = {
        guard PeerProgram.isInstalled("tshark"), let folder = try? TemporaryFolder(),
            let program = try? PeerProgram(
                "tshark", ["-i", "lo", "-a", "duration:1", "-c", "1", "-f", "udp port 9", "-w", "try.pcapng"], in: folder)
        else { return false }
        return program.wait(.seconds(5)) == 0
    }()

    private let folder: TemporaryFolder
    private let program: PeerProgram
    private var sip: [UInt16] = []
    /// Where the packet goes that says: everything before me was captured.
    private let mark = Ports.free()

    init() throws {
        folder = try TemporaryFolder()
        program = try PeerProgram(
            "tshark",
            ["-i", "lo", "-a", "duration:30", "-B", "64", "-f", "udp or tcp", "-w", "all.pcapng"]
                + ["-P", "-l", "-T", "fields", "-e", "udp.dstport"], in: folder)
        _ = program.waitForOutput("Capture started")
    }

    /// Ends the capture. `sip`: ports whose packets are read as SIP.
    func finish(sip: [UInt16]) throws -> Capture {
        // What the kernel has is handed over in blocks, in order.
        _ = Ports.exchange([[0]], with: mark, patience: .zero)
        guard program.waitForOutput("\n\(mark)\n") else { throw PeerError.missing("the last packet of the capture") }
        program.stop()
        self.sip = sip
        return self
    }

    func count(_ filter: String) throws -> Int { try lines(filter).count }

    /// One line for each packet that the filter shows.
    func lines(_ filter: String) throws -> [String] {
        let ports = sip.flatMap { ["-d", "udp.port==\($0),sip", "-d", "tcp.port==\($0),sip"] }
        return try Dissector.lines(of: "all.pcapng", in: folder, ports + ["-Y", filter])
    }
}

/// What tshark says of a file.
enum Dissector {
    static func lines(of file: String, in folder: TemporaryFolder, _ arguments: [String]) throws -> [String] {
        let reader = try PeerProgram("tshark", ["-n", "-r", file] + arguments, in: folder)
        guard reader.wait(.seconds(20)) == 0 else {
            Issue.record("tshark: \(reader.output)")
            return []
        }
        return reader.output.split(separator: "\n").map(String.init).filter { !$0.contains("Running as user") }
    }
}
