// Info-Packages (RFC 6086): none is sent to who has not named it, and who asks is told that none is taken here.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct PackageTests {
    private final class Sent { var result: TextResult? }

    private func send(_ package: String, _ call: Call, _ world: VirtualWorld) -> TextResult? {
        var request = TextRequest("state=busy")
        request.type = "application/x-desk"
        request.carrier = .info(package: package)
        let sent = Sent()
        call.loop.spawn { sent.result = try? await call.send(request) }
        world.loop.run(for: .seconds(1))
        return sent.result
    }

    private func placed(_ world: VirtualWorld, rows: String) throws -> (Call, SIPPeer) {
        let peer = try SIPPeer(world, "192.0.2.9")
        peer.answer = { [unowned peer] request in
            request.method == .invite ? .init(status: 200, rows: rows, body: peer.description) : .init(status: 200)
        }
        let call = try world.engine(at: "192.0.2.1").shard(0).place(CallRequest(target: "sip:raw@192.0.2.9"))
        world.loop.run(for: .seconds(1))
        #expect(call.state == .answered)
        return (call, peer)
    }

    @Test(arguments: [
        ("Recv-Info: x-desk\r\n", true, ""), ("Recv-Info: other, X-Desk;p=1\r\n", true, ""),
        ("recv-info: other\r\nRecv-Info:x-desk\r\n", true, ""),
        ("Recv-Info: other, x-desks\r\n", false, "its Recv-Info names other, x-desks"),
        ("Recv-Info:\r\n", false, "its Recv-Info names none"),
        ("Recv-Info: nil\r\n", false, "its Recv-Info names none"), ("", false, "it has sent no Recv-Info (RFC 6086)")
    ]) func aPackageGoesToWhoNamesIt(rows: String, goes: Bool, reason: String) throws {
        let world = VirtualWorld(seed: 1)
        let (call, peer) = try placed(world, rows: rows)
        let result = try #require(send("x-desk", call, world))
        if goes {
            #expect(result.outcome == .delivered && peer.count(.info) == 1)
        } else {
            #expect(result.outcome == .refused && result.status == 0 && result.reason.hasSuffix(reason), "\(result)")
            #expect(peer.count(.info) == 0)
        }
        // What names no package is nobody's business but both ends'.
        #expect(send("", call, world)?.outcome == .delivered)
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        peer.close()
        #expect(world.finish() == [])
    }

    /// Who has said nothing, and takes UPDATE, is asked once.
    @Test(arguments: ["Recv-Info: x-desk\r\n", "", "Recv-Info: other\r\n"]) func whoHasSaidNothingIsAsked(rows: String) throws {
        let world = VirtualWorld(seed: 4)
        let (call, peer) = try placed(world, rows: "Allow: INVITE, ACK, BYE, UPDATE\r\n")
        peer.answer = { request in .init(status: 200, rows: request.method == .update ? rows : "") }
        for _ in 0..<2 { #expect(send("x-desk", call, world)?.outcome == (rows.contains("x-desk") ? .delivered : .refused)) }
        #expect(peer.count(.update) == 1)
        let question = try #require(peer.requests.first { $0.method == .update })
        #expect(question.header("Recv-Info") == "" && question.body.isEmpty)
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func theEndOfTheCallEndsTheQuestion() throws {
        let world = VirtualWorld(seed: 5)
        let (call, peer) = try placed(world, rows: "Allow: UPDATE\r\n")
        peer.answer = { request in request.method == .update ? nil : .init(status: 200) }
        #expect(send("x-desk", call, world) == nil, "it waits")
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func whatTheFarSideTakesMayChange() throws {
        let world = VirtualWorld(seed: 2)
        var taken: Call?
        _ = try world.engine(at: "192.0.2.1") { call in
            taken = call
            call.loop.spawn { try? await call.answer() }
        }
        let peer = try SIPPeer(world, "192.0.2.9")
        let sdp = "Content-Type: application/sdp\r\n"
        let answer = try #require(peer.request("INVITE", sdp + "Recv-Info: x-desk\r\n", body: peer.description))
        #expect(answer.header("Recv-Info") == "", "who asks is told that none is taken")
        peer.acknowledge(answer)
        let call = try #require(taken)
        #expect(send("x-desk", call, world)?.outcome == .delivered)
        let again = try #require(peer.request("INVITE", sdp + "Recv-Info: other\r\n", body: peer.description, within: answer))
        #expect(again.header("Recv-Info") == "")
        peer.acknowledge(again)
        #expect(send("x-desk", call, world)?.outcome == .refused && send("other", call, world)?.outcome == .delivered)
        // A row that is absent changes nothing.
        #expect(peer.request("UPDATE", within: answer)?.header("Recv-Info") == nil)
        #expect(send("other", call, world)?.outcome == .delivered)
        #expect(peer.request("UPDATE", "Recv-Info: x-desk, other\r\n", within: answer)?.header("Recv-Info") == "")
        #expect(send("x-desk", call, world)?.outcome == .delivered)
        let refused = try #require(peer.request("INFO", "Info-Package: x-desk\r\n", within: answer))
        #expect(refused.status == 469 && refused.header("Recv-Info") == "")
        #expect(peer.request("BYE", within: answer)?.status == 200)
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func whoDoesNotAskIsNotTold() throws {
        let world = VirtualWorld(seed: 3)
        _ = try world.engine(at: "192.0.2.1") { call in call.loop.spawn { try? await call.answer() } }
        let peer = try SIPPeer(world, "192.0.2.9")
        let answer = try #require(peer.request("INVITE", "Content-Type: application/sdp\r\n", body: peer.description))
        #expect(answer.header("Recv-Info") == nil)
        peer.acknowledge(answer)
        #expect(peer.request("BYE", within: answer)?.status == 200)
        peer.close()
        #expect(world.finish() == [])
    }
}
