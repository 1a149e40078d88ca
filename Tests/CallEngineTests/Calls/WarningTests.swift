// Warning (RFC 3261 section 20.43): why a description is refused, by its code, wherever one comes; and what a far side warns of.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct WarningTests {
    /// A line of a description that is refused, its status and the code of its Warning.
    static let faults: [(String, Int, String)] = [
        ("m=audio 4000 RTP/AVP 18", 488, "305"), ("m=video 4000 RTP/AVP 99", 488, "304"), ("m=audio 0 RTP/AVP 0", 488, "304"),
        ("m=audio 4000 UDP/TLS/RTP/SAVP 0", 488, "302"), ("m=audio x RTP/AVP 0", 400, "399"),
        ("m=audio 4000 RTP/AVP 0\r\nc=IN IP6 2001:db8::1", 488, "301")
    ]
    private static let sdp = "Content-Type: application/sdp\r\n"

    private func description(_ peer: SIPPeer, _ line: String) -> String {
        peer.description.replacing("m=audio 4000 RTP/AVP 0", with: line)
    }

    private func expect(_ response: Message?, _ status: Int, _ code: String) throws {
        let response = try #require(response)
        let warning = response.header(.warning) ?? ""
        #expect(
            response.status == status && warning.hasPrefix("\(code) 192.0.2.1:5060 \"") && warning.hasSuffix("\""), "\(warning)")
    }

    @Test func whatIsRefusedSaysWhy() throws {
        let world = VirtualWorld(seed: 1)
        var taken: Call?
        _ = try world.engine(at: "192.0.2.1") { call in
            taken = call
            call.loop.spawn { try? await call.answer() }
        }
        let peer = try SIPPeer(world, "192.0.2.9")
        for (line, status, code) in Self.faults {
            try expect(peer.request("INVITE", Self.sdp, body: description(peer, line)), status, code)
        }
        #expect(taken == nil)
        let answer = try #require(peer.request("INVITE", Self.sdp, body: peer.description))
        peer.acknowledge(answer)
        for (line, status, code) in Self.faults {
            for method in ["INVITE", "UPDATE"] {
                let refused = peer.request(method, Self.sdp, body: description(peer, line), within: answer)
                try expect(refused, status, code)
                if method == "INVITE", let refused { peer.acknowledge(refused) }
            }
        }
        #expect(taken?.state == .answered, "the call goes on as it was")
        #expect(peer.request("BYE", within: answer)?.status == 200)
        peer.close()
        #expect(world.finish() == [])
    }

    /// The PRACK of a reliable 183 offers anew.
    @Test func anOfferInPRACKIsRefusedWithAWarning() throws {
        let world = VirtualWorld(seed: 2)
        _ = try world.engine(at: "192.0.2.1") { call in try? call.progress() }
        let peer = try SIPPeer(world, "192.0.2.9")
        _ = peer.request("INVITE", Self.sdp + "Require: 100rel\r\n", body: peer.description)
        let early = try #require(peer.responses.last { $0.status == 183 })
        let row = "RAck: \(early.number(.rSeq) ?? 0) \(early.cSeq) INVITE\r\n"
        try expect(
            peer.request("PRACK", row + Self.sdp, body: description(peer, "m=audio 4000 RTP/AVP 18"), within: early), 488, "305")
        _ = peer.request("BYE", within: early)
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func whatTheFarSideWarnsOfIsTold() throws {
        let world = VirtualWorld(seed: 3)
        let peer = try SIPPeer(world, "192.0.2.9")
        let warning = "305 pbx.example.com \"Incompatible media format\""
        peer.answer = { request in
            request.method == .invite ? .init(status: 488, rows: "Warning: \(warning)\r\n") : .init(status: 200)
        }
        let engine = try world.engine(at: "192.0.2.1")
        var end: CallEnd?
        let call = try engine.shard(0).place(CallRequest(target: "sip:raw@192.0.2.9"))
        call.onEnd = { end = $0 }
        world.loop.run(for: .seconds(1))
        #expect(end == CallEnd(by: .callee, cause: .rejected, detail: "Warning: \(warning)"))

        var invites = 0
        peer.answer = { [unowned peer] request in
            guard request.method == .invite else { return .init(status: 200) }
            invites += 1
            return invites == 1 ? .init(status: 200, body: peer.description) : .init(status: 488, rows: "Warning: \(warning)\r\n")
        }
        let held = try engine.shard(0).place(CallRequest(target: "sip:raw@192.0.2.9"))
        world.loop.run(for: .seconds(1))
        var words = ""
        held.loop.spawn {
            do { try await held.hold(music: nil) } catch { words = (error as? CallControlError)?.words ?? "\(error)" }
        }
        world.loop.run(for: .seconds(1))
        #expect(words == "hold: the far side refused with 488 (Warning: \(warning))")
        held.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        peer.close()
        #expect(world.finish() == [])
    }
}
