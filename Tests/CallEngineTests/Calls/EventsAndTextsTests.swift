// SUBSCRIBE and MESSAGE: what is refused, and who gets the texts.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct EventsAndTextsTests {
    private let plain = "Content-Type: text/plain\r\n"

    @Test func thereIsNothingToSubscribeTo() throws {
        let world = VirtualWorld(seed: 141)
        _ = try world.engine(at: "192.0.2.1")
        let peer = try SIPPeer(world, "192.0.2.2")
        let answer = peer.request("SUBSCRIBE", "Event: presence\r\n")
        #expect(answer?.status == 489 && answer?.header(.allowEvents) == "refer")
        let options = peer.request("OPTIONS")
        #expect(options?.tokens(.allowEvents) == ["refer"] && options?.lists(.allow, "subscribe") == true)
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func textsOfLinesAreTakenAndThoseOfStrangersAreNot() throws {
        let world = VirtualWorld(seed: 142)
        let server = try world.engine(at: "192.0.2.1") {
            $0.lines = [LineSettings(name: "pbx", server: "192.0.2.2", from: [IPNetwork("192.0.2.2")!])]
        }
        let (peer, stranger) = (try SIPPeer(world, "192.0.2.2"), try SIPPeer(world, "192.0.2.3"))
        #expect(peer.request("MESSAGE", plain, body: "hello")?.status == 405, "nobody wants texts")
        var texts: [TextMessage] = []
        server.shard(0).onMessage = { texts.append($0) }
        #expect(peer.request("MESSAGE", plain, body: "grüße")?.status == 200)
        let other = peer.request("MESSAGE", "Content-Type: text/html\r\n", body: "<p>")
        #expect(other?.status == 415 && other?.tokens(.accept) == ["text/plain"])
        #expect(stranger.request("MESSAGE", plain, body: "buy")?.status == 403)
        #expect(texts.map(\.text) == ["grüße"] && texts.map(\.line) == ["pbx"])
        #expect(texts.first?.from.user == "raw")
        peer.close()
        stranger.close()
        #expect(world.finish() == [])
    }

    @Test func aTextInACallBelongsToIt() throws {
        let world = VirtualWorld(seed: 143)
        var call: Call?
        let server = try world.engine(at: "192.0.2.1") { incoming in
            call = incoming
            incoming.loop.spawn { try? await incoming.answer() }
        }
        var texts: [TextMessage] = []
        server.shard(0).onMessage = { texts.append($0) }
        let peer = try SIPPeer(world, "192.0.2.2")
        let answer = try #require(peer.request("INVITE", "Content-Type: application/sdp\r\n", body: peer.description))
        peer.acknowledge(answer)
        #expect(peer.request("MESSAGE", plain, body: "in the call", within: answer)?.status == 200)
        #expect(texts.map(\.text) == ["in the call"] && texts.first?.call == call?.id)
        // Also where nobody reads texts otherwise.
        server.shard(0).onMessage = nil
        #expect(peer.request("MESSAGE", plain, body: "again", within: answer)?.status == 200)
        #expect(call?.info.texts == ["in the call", "again"] && call.map { Array($0.receivedTexts.waiting) } == call?.info.texts)
        #expect(peer.request("SUBSCRIBE", "Event: refer\r\n", within: answer)?.status == 489, "nobody transfers")
        #expect(peer.request("BYE", within: answer)?.status == 200)
        peer.close()
        #expect(world.finish() == [])
    }
}
