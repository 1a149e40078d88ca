// Descriptions that stand beside other parts (RFC 5621), wherever a call has an offer or an answer.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct MultipartCallTests {
    private static let row = "Content-Type: multipart/mixed;boundary=part\r\n"

    private func parts(_ description: String, handling: String = "optional") -> String {
        "--part\r\nContent-Type: application/ISUP;version=itu-t92+\r\nContent-Disposition: signal;handling=\(handling)\r\n\r\n\u{1}\u{0}\r\n"
            + "--part\r\nContent-Type: application/sdp\r\n\r\n\(description)\r\n--part--\r\n"
    }

    private func answering(_ world: VirtualWorld) throws -> Locked<Call?> {
        let taken = Locked<Call?>(nil)
        _ = try world.engine(at: "192.0.2.1") { call in
            taken.withLock { $0 = call }
            call.loop.spawn { try? await call.answer() }
        }
        return taken
    }

    @Test func offersOfACallerAreFound() throws {
        let world = VirtualWorld(seed: 1)
        let taken = try answering(world)
        let peer = try SIPPeer(world, "192.0.2.9")
        let answer = try #require(peer.request("INVITE", Self.row, body: parts(peer.description)))
        #expect(answer.status == 200 && answer.hasBody(ofType: "application/sdp"))
        peer.acknowledge(answer)
        let again = try #require(
            peer.request("INVITE", Self.row, body: parts(peer.description + "a=sendonly\r\n"), within: answer))
        #expect(again.status == 200 && text(again.body).contains("a=recvonly"))
        peer.acknowledge(again)
        let update = try #require(peer.request("UPDATE", Self.row, body: parts(peer.description), within: answer))
        #expect(update.status == 200 && text(update.body).contains("a=sendrecv"))
        // What has to be understood and is not leaves the call as it was.
        for method in ["INVITE", "UPDATE"] {
            let refused = try #require(
                peer.request(method, Self.row, body: parts(peer.description, handling: "required"), within: answer))
            #expect(refused.status == 415 && refused.header("Accept")?.contains("multipart/mixed") == true)
            if method == "INVITE" { peer.acknowledge(refused) }
        }
        #expect(taken.withLock { $0?.state } == .answered)
        #expect(peer.request("BYE", within: answer)?.status == 200)
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func aCallThatNeedsMoreThanADescriptionIsRefused() throws {
        let world = VirtualWorld(seed: 2)
        let taken = try answering(world)
        let peer = try SIPPeer(world, "192.0.2.9")
        let refused = try #require(peer.request("INVITE", Self.row, body: parts(peer.description, handling: "required")))
        #expect(refused.status == 415)
        #expect(refused.header("Accept") == "application/sdp, multipart/alternative, multipart/mixed, multipart/related")
        #expect(peer.request("INVITE", "Content-Type: multipart/mixed\r\n", body: parts(peer.description))?.status == 400)
        #expect(taken.withLock { $0 == nil })
        #expect(peer.request("OPTIONS")?.header("Accept")?.contains("multipart/mixed") == true)
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func theAnswerInAnACKIsFound() throws {
        let world = VirtualWorld(seed: 3)
        let taken = try answering(world)
        let peer = try SIPPeer(world, "192.0.2.9")
        let offer = try #require(peer.request("INVITE"))
        peer.acknowledge(offer, body: parts(peer.description), type: "multipart/mixed;boundary=part")
        #expect(taken.withLock { $0?.state } == .answered)
        #expect(taken.withLock { $0?.info.codec } == "PCMU/8000")
        #expect(peer.request("BYE", within: offer)?.status == 200)
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func answersOfACalleeAreFound() throws {
        let world = VirtualWorld(seed: 4)
        let peer = try SIPPeer(world, "192.0.2.9")
        peer.answer = { [unowned peer] request in
            request.method == .invite
                ? .init(status: 200, body: parts(peer.description, handling: "required"), type: "multipart/mixed;boundary=part")
                : .init(status: 200)
        }
        let call = try world.engine(at: "192.0.2.1").shard(0).place(CallRequest(target: "sip:raw@192.0.2.9"))
        world.loop.run(for: .seconds(1))
        #expect(call.state == .answered)
        call.loop.spawn { try? await call.hold(music: nil) }
        world.loop.run(for: .seconds(1))
        #expect(call.isHeldByUs)
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        peer.close()
        #expect(world.finish() == [])
    }
}
