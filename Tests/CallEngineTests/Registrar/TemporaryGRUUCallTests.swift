// Calls of private callers name a temporary GRUU of their device (RFC 5627, RFC 3323), which leads back to this device alone, as long as it holds.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct TemporaryGRUUCallTests {
    /// Places a call by a phone's line and gives the Contact that the server saw, without its brackets.
    private func contact(_ town: RegistrarTown, _ adjust: (inout CallRequest) -> Void = { _ in }) throws -> String {
        var seen = ""
        town.server.shard(0).onIncoming = { call in
            seen = call.info.headers.first { $0.name == "Contact" }?.value ?? ""
            call.hangUp(HangUpReason(status: 480))
        }
        var request = CallRequest(target: "100", line: "home")
        adjust(&request)
        _ = try #require(town.phones["192.0.2.11"]).shard(0).place(request)
        town.world.loop.run(for: .seconds(2))
        return String(seen.dropFirst().dropLast())
    }

    /// Calls a URI of the server from outside; whom the server thought it was for, and the status of the answer.
    private func call(_ town: RegistrarTown, _ uri: String) throws -> (user: String?, status: Int) {
        var user: String?
        town.server.shard(0).onIncoming = { call in
            user = call.info.to.user
            let task = call.loop.spawn {
                _ = try? await call.bridge(BridgeRequest(targets: ["user:\(call.info.to.user)"], timeout: .seconds(2)))
                call.hangUp(HangUpReason(status: 480))
            }
            call.onEnd = { _ in task.cancel() }
        }
        let stranger = try town.world.engine(at: "192.0.2.\(201 + count)")
        count += 1
        let call = try stranger.shard(0).place(CallRequest(target: uri))
        town.world.loop.run(for: .seconds(5))
        return (user, call.info.sipStatus)
    }

    private final class Counter { var value = 0 }
    private let counter = Counter()
    private var count: Int {
        get { counter.value }
        nonmutating set { counter.value = newValue }
    }

    @Test func aPrivateCallNamesATemporaryOneThatLeadsBack() throws {
        let town = try RegistrarTown(seed: 21)
        try town.phone("192.0.2.11")
        try town.phone("192.0.2.12")
        town.world.loop.run(for: .seconds(2))
        #expect(try contact(town) == "sip:anna@example.com;gr=urn:uuid:192.0.2.11")
        #expect(try contact(town) { $0.privacy = "none" } == "sip:anna@example.com;gr=urn:uuid:192.0.2.11")
        var names: [String] = []
        for adjust in [{ $0.from = "anonymous" }, { $0.privacy = "id" }] as [(inout CallRequest) -> Void] {
            let name = try contact(town, adjust)
            #expect(name.hasPrefix("sip:tgruu.") && name.hasSuffix("@example.com;gr") && !name.contains("anna"))
            names.append(name)
        }
        // The domain is not to be found from here.
        let back = names[0].replacing("example.com", with: "192.0.2.1")
        let answer = try call(town, back)
        #expect(answer.user == "anna" && town.rang == ["192.0.2.11 home"])
        // After a refresh there is another one, and this one still leads here.
        town.world.loop.run(for: .seconds(3600))
        #expect(try contact(town) { $0.from = "anonymous" } != names[0])
        _ = try call(town, back)
        #expect(town.rang == ["192.0.2.11 home", "192.0.2.11 home"])
        // When the device has gone, it leads nowhere.
        town.phones["192.0.2.11"]?.stopLines()
        town.world.loop.run(for: .seconds(2))
        #expect(try call(town, back) == (nil, 404))
        #expect(try call(town, "sip:tgruu.00112233445566778899aabbccddeeff@192.0.2.1;gr") == (nil, 404))
        #expect(town.rang.count == 2)
        #expect(town.finish() == [])
    }

    @Test func aRedirectionKeepsItPrivate() throws {
        let town = try RegistrarTown(seed: 23)
        try town.phone("192.0.2.11")
        town.world.loop.run(for: .seconds(2))
        var contacts: [String] = []
        town.server.shard(0).onIncoming = { call in
            contacts.append(call.info.headers.first { $0.name == "Contact" }?.value ?? "")
            guard contacts.count > 1 else {
                try? call.redirect(to: ["sip:200@192.0.2.1"])
                return
            }
            call.hangUp(HangUpReason(status: 486))
        }
        _ = try #require(town.phones["192.0.2.11"]).shard(0).place(CallRequest(target: "100", line: "home", from: "anonymous"))
        town.world.loop.run(for: .seconds(2))
        #expect(contacts.count == 2 && contacts.allSatisfy { $0.hasPrefix("<sip:tgruu.") }, "\(contacts)")
        #expect(town.finish() == [])
    }

    // RFC 5627 section 4.4: answers name the GRUU as well, and who has called a temporary one learns no other.
    @Test func anAnswerNamesIt() throws {
        let town = try RegistrarTown(seed: 24)
        try town.phone("192.0.2.11", answer: .zero)
        town.world.loop.run(for: .seconds(2))
        let peer = try SIPPeer(town.world, "192.0.2.77")
        peer.target = SocketAddress("192.0.2.11:5060")!
        func contacts(_ uri: String, to: String) throws -> Set<String> {
            let known = peer.responses.count
            let answer = try #require(
                peer.request("INVITE", "Content-Type: application/sdp\r\n", body: peer.description, uri: uri, to: "<\(to)>"))
            #expect(answer.status == 200)
            #expect(peer.request("UPDATE", uri: uri, within: answer)?.status == 200)
            #expect(peer.request("BYE", uri: uri, within: answer)?.status == 200)
            let told = peer.responses[known...].filter { $0.cSeqMethod != .bye && $0.status > 100 }
            return Set(told.map { $0.header("Contact") ?? "" })
        }
        let mine = try #require(town.contacts.first)
        let gruu = "<sip:anna@example.com;gr=urn:uuid:192.0.2.11>"
        #expect(try contacts(mine, to: "sip:anna@example.com") == [gruu])
        #expect(try contacts(mine, to: "sip:anna@example.com;gr=urn:uuid:192.0.2.11") == [gruu])
        let hidden = try contacts(mine, to: "sip:tgruu.0123@example.com;gr")
        #expect(hidden.count == 1 && hidden.first?.hasPrefix("<sip:tgruu.") == true && hidden.first?.contains("0123") == false)
        // A call for nobody's line is answered by the address, and so is one of a line that is not registered any more.
        #expect(try contacts("sip:x@192.0.2.11", to: "sip:x@192.0.2.11") == ["<sip:192.0.2.11:5060>"])
        town.phones["192.0.2.11"]?.stopLines()
        town.world.loop.run(for: .seconds(2))
        #expect(try contacts(mine, to: "sip:anna@example.com") == ["<sip:192.0.2.11:5060>"])
        peer.close()
        #expect(town.finish() == [])
    }

    // Without a registrar such a name is a user like any other.
    @Test func withoutARegistrarItIsAUserLikeAnyOther() throws {
        let world = VirtualWorld(seed: 22)
        var user = ""
        _ = try world.engine(at: "192.0.2.1") { call in
            user = call.info.to.user
            call.hangUp(HangUpReason(status: 486))
        }
        let name = "tgruu.00112233445566778899aabbccddeeff"
        _ = try world.engine(at: "192.0.2.2").shard(0).place(CallRequest(target: "sip:\(name)@192.0.2.1;gr"))
        world.loop.run(for: .seconds(1))
        #expect(user == name)
        #expect(world.finish() == [])
    }
}
