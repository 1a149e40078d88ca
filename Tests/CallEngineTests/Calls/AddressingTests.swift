// Which of its addresses an engine uses and names: several interfaces, both families, the external address.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct AddressingTests {
    private func address(_ listeners: [String], external: String? = nil, host: String = "203.0.113.9", to peer: String) -> String
    {
        let loop = VirtualLoop()
        loop.network.hostAddress4 = IPAddress(host)!
        loop.network.hostAddress6 = IPAddress("2001:db8::9")!
        let bound = listeners.map { text in
            let colon = text.firstIndex(of: ":")!
            return EngineSettings.Listener(
                .init(rawValue: String(text[..<colon]))!, SocketAddress(String(text[colon...].dropFirst()))!)
        }
        var addressing = LocalAddressing(listeners: bound, external: external.flatMap { IPAddress($0) })
        let colon = peer.firstIndex(of: ":")!
        let transport: Transport = ["udp": .udp, "tcp": .tcp, "tls": .tls][String(peer[..<colon])]!
        return addressing.address(
            to: Hop(transport: transport, address: SocketAddress(String(peer[colon...].dropFirst()))!), on: loop
        ).description
    }

    @Test func theInterfaceWithAWayToThePeerIsUsed() {
        let two = ["udp:192.0.2.1:5060", "udp:198.51.100.1:5070", "tcp:192.0.2.1:5060", "tcp:198.51.100.1:5070"]
        #expect(address(two, host: "198.51.100.1", to: "udp:203.0.113.1:5060") == "198.51.100.1:5070")
        #expect(address(two, host: "192.0.2.1", to: "udp:203.0.113.1:5060") == "192.0.2.1:5060")
        #expect(address(two, host: "198.51.100.1", to: "tcp:203.0.113.1:5060") == "198.51.100.1:5070")
        #expect(address(two, to: "udp:203.0.113.1:5060") == "192.0.2.1:5060", "the first, where none fits")
    }

    @Test func eachFamilyHasItsOwn() {
        let both = ["udp:0.0.0.0:5060", "udp:[::]:5080", "tcp:192.0.2.1:5060", "tcp:[2001:db8::1]:5080"]
        #expect(address(both, to: "udp:203.0.113.1:5060") == "203.0.113.9:5060")
        #expect(address(both, to: "udp:[2001:db8::2]:5060") == "[2001:db8::9]:5080")
        #expect(address(both, to: "tcp:[2001:db8::2]:5060") == "[2001:db8::1]:5080")
        #expect(address(both, to: "tls:203.0.113.1:5061") == "203.0.113.9:5061")
        #expect(address(["udp:[::]:5060"], to: "udp:203.0.113.1:5060") == "203.0.113.9:5060", "one socket for both families")
    }

    @Test func theExternalAddressIsForItsFamily() {
        let both = ["udp:0.0.0.0:5060", "udp:[::]:5060", "tcp:0.0.0.0:5062"]
        #expect(address(both, external: "198.51.100.7", to: "udp:203.0.113.1:5060") == "198.51.100.7:5060")
        #expect(address(both, external: "198.51.100.7", to: "tcp:203.0.113.1:5060") == "198.51.100.7:5062")
        #expect(address(both, external: "198.51.100.7", to: "udp:[2001:db8::2]:5060") == "[2001:db8::9]:5060")
    }

    /// An end that names an address under which nobody finds it learns the one that the other side saw.
    @Test(arguments: [nil, "198.51.100.7"] as [String?]) func anAddressThatIsNotOursShowsInTheAnswer(external: String?) throws {
        let world = VirtualWorld(seed: 2)
        _ = try world.engine(
            at: "192.0.2.1", onIncoming: { call in call.loop.spawn { try? call.reject(status: 486, reason: nil, headers: []) } })
        let callers = try world.engine(at: "192.0.2.2", settings: { $0.external = external.flatMap { IPAddress($0) } })
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(2))
        #expect(call.finalStatus == 486)
        #expect(call.seenAddress == (external == nil ? nil : IPAddress("192.0.2.2")))
        #expect(world.finish() == [])
    }

    @Test(arguments: ["", ";transport=tcp"]) func aCallOverIPv6(transport: String) throws {
        let world = VirtualWorld(seed: 1)
        let sent = Locked<[String]>([])
        _ = try world.engine(
            at: "2001:db8::1", settings: nil,
            trace: { message in sent.withLock { $0.append(String(decoding: message.bytes, as: UTF8.self)) } },
            onIncoming: { call in call.loop.spawn { try? await call.answer() } })
        let callers = try world.engine(at: "2001:db8::2")
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@[2001:db8::1]\(transport)"))
        world.loop.run(for: .seconds(2))
        #expect(call.state == .answered)
        #expect(call.info.media.received > 90)
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        let invite = sent.withLock { $0.first } ?? ""
        #expect(invite.contains(" [2001:db8::2]:5060;branch=") && invite.contains("c=IN IP6 2001:db8::2\r\n"))
        #expect(world.finish() == [])
    }
}
