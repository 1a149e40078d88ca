// Requests that name a call and are not of its other end, or come out of order (RFC 3261 section 12.2.2).

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct StrangeRequestTests {
    /// An engine at 192.0.2.1 that has answered a peer, whose latest number is 5.
    private func answered(_ world: VirtualWorld) throws -> (Call, SIPPeer, Message) {
        var taken: Call?
        _ = try world.engine(at: "192.0.2.1") { call in
            taken = call
            call.loop.spawn { try? await call.answer() }
        }
        let peer = try SIPPeer(world, "192.0.2.9")
        for _ in 0..<4 { _ = peer.request("OPTIONS") }
        let answer = try #require(peer.request("INVITE", "Content-Type: application/sdp\r\n", body: peer.description))
        peer.acknowledge(answer)
        return (try #require(taken), peer, answer)
    }

    private func finish(_ world: VirtualWorld, _ call: Call, _ peer: SIPPeer, _ answer: Message) {
        #expect(call.state == .answered)
        #expect(peer.request("BYE", within: answer)?.status == 200)
        #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        peer.close()
        #expect(world.finish() == [])
    }

    @Test(arguments: ["BYE", "INFO", "INVITE", "UPDATE", "OPTIONS"])
    func whoHasAnotherTagIsNoPartOfTheCall(method: String) throws {
        let world = VirtualWorld(seed: 1)
        let (call, peer, answer) = try answered(world)
        #expect(peer.request(method, tag: "stranger", within: answer)?.status == 481)
        finish(world, call, peer, answer)
    }

    @Test(arguments: ["BYE", "INFO", "INVITE"]) func whatComesLateIsRefused(method: String) throws {
        let world = VirtualWorld(seed: 2)
        let (call, peer, answer) = try answered(world)
        #expect(peer.request(method, number: 4, within: answer)?.status == 500)
        finish(world, call, peer, answer)
    }

    @Test func anAcknowledgementOfAStrangerIsNone() throws {
        let world = VirtualWorld(seed: 3)
        var taken: Call?
        _ = try world.engine(at: "192.0.2.1") { call in
            taken = call
            call.loop.spawn { try? await call.answer() }
        }
        let peer = try SIPPeer(world, "192.0.2.9")
        let answer = try #require(peer.request("INVITE", "Content-Type: application/sdp\r\n", body: peer.description))
        peer.acknowledge(answer, tag: "stranger")
        let before = peer.responses.count
        world.loop.run(for: .seconds(5))
        #expect(peer.responses.count > before, "the 200 is repeated until its own ACK")
        peer.acknowledge(answer)
        finish(world, try #require(taken), peer, answer)
    }

    /// Two answer one INVITE; the one that lost hangs up by itself, before it has our BYE.
    @Test func whoLostEndsNothing() throws {
        let world = VirtualWorld(seed: 4)
        let peer = try SIPPeer(world, "192.0.2.1")
        peer.answer = { [unowned peer] request in
            .init(status: 200, body: request.method == .invite ? peer.description : "")
        }
        let call = try world.engine(at: "192.0.2.2").shard(0).place(CallRequest(target: "sip:raw@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        #expect(call.state == .answered)
        let invite = try #require(peer.requests.first)
        let caller = SocketAddress("192.0.2.2:5060")!
        var second = MessageWriter()
        second.response(200, to: invite, tag: Array("second".utf8)[...], source: caller)
        second.append(Array("Contact: <sip:raw@192.0.2.1>\r\n".utf8))
        second.finish(body: Array(peer.description.utf8), type: "application/sdp")
        peer.send(second.octets, to: caller)
        let bye =
            "BYE sip:192.0.2.2 SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKsecond\r\nMax-Forwards: 70\r\n"
            + "From: \(invite.header("To") ?? "");tag=second\r\nTo: \(invite.header("From") ?? "")\r\n"
            + "Call-ID: \(text(invite.callID))\r\nCSeq: 1 BYE\r\nContent-Length: 0\r\n\r\n"
        peer.send(Array(bye.utf8), to: caller)
        world.loop.run(for: .seconds(1))
        #expect(peer.responses.map(\.status) == [481])
        #expect(call.state == .answered)
        #expect(peer.count(.bye) == 1, "our BYE to the second")
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        #expect(peer.count(.bye) == 2)
        peer.close()
        #expect(world.finish() == [])
    }
}
