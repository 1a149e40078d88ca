// Streams that a peer has opened, used for calls to it (RFC 5923): where it asks for that, and has proved or is trusted to be who it says.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct AliasTests {
    private func answering(_ call: Call) { call.loop.spawn { try? await call.answer() } }

    /// What the calling end shows, whether the called end asks for it, whom it calls back, and whether that goes by the same connection.
    static let shown: [(certificate: String, isAsked: Bool, target: String, isUsed: Bool)] = [
        ("hosts", true, "sip:back@192.0.2.2;transport=tls", true), ("hosts", true, "sips:back@192.0.2.2", true),
        ("hosts", false, "sip:back@192.0.2.2;transport=tls", false), ("client", true, "sip:back@192.0.2.2;transport=tls", false),
        ("hosts", true, "sip:back@192.0.2.2:5062;transport=tls", false)
    ]

    @Test(.enabled(if: TestCertificates.standard != nil, "there is no openssl program"), arguments: shown)
    func overTLSWhoHasProvedItsName(certificate: String, isAsked: Bool, target: String, isUsed: Bool) throws {
        let world = VirtualWorld(seed: 1)
        world.network.hostAddress4 = IPAddress("192.0.2.2")!
        let made = try #require(TestCertificates.standard)
        func settings(_ ip: String, _ certificate: String, asks: Bool) throws -> (inout EngineSettings) -> Void {
            var tls = made.settings(certificate)
            tls.requiresClientCertificate = asks
            let context = try TLSContext(tls)
            return { settings in
                settings.tls = context
                settings.listeners.append(.init(.tls, SocketAddress(ip: IPAddress(ip)!, port: 5061)))
            }
        }
        let servers = try world.engine(
            at: "192.0.2.1", settings: settings("192.0.2.1", "hosts", asks: isAsked), onIncoming: answering)
        let callers = try world.engine(
            at: "192.0.2.2", settings: settings("192.0.2.2", certificate, asks: false), onIncoming: answering)
        let first = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1;transport=tls"))
        world.loop.run(for: .seconds(2))
        #expect(first.state == .answered)
        let back = try servers.shard(0).place(CallRequest(target: target))
        world.loop.run(for: .seconds(2))
        #expect(servers.signalingCounters.streamsOpened == (isUsed ? 0 : 1))
        if isUsed {
            #expect(back.state == .answered)
            first.hangUp(.normal)
            back.hangUp(.normal)
            world.loop.run(for: .seconds(2))
            let later = try servers.shard(0).place(CallRequest(target: target))
            world.loop.run(for: .seconds(2))
            #expect(later.state == .answered && servers.signalingCounters.streamsOpened == 0)
            later.hangUp(.normal)
        }
        for call in [first, back] where !call.state.isEnded { call.hangUp(.normal) }
        #expect(world.finish() == [])
    }

    /// A peer that is nowhere but at the end of its own stream.
    private final class Peer {
        let stream: StreamConnection
        private var framer = StreamFramer()
        private(set) var messages: [Message] = []

        init(_ world: VirtualWorld, from ip: String, via: String) {
            stream = world.loop.openStream(to: SocketAddress("192.0.2.1:5060")!, from: SocketAddress("\(ip):0")!)
            stream.onReceive = { [unowned self] bytes in
                framer.append(bytes)
                while case .message(let message)? = framer.next() { messages.append(message) }
            }
            stream.send(
                Array(
                    ("OPTIONS sip:bot@192.0.2.1 SIP/2.0\r\nVia: SIP/2.0/TCP \(via);branch=z9hG4bKalias\r\nMax-Forwards: 70\r\n"
                        + "From: <sip:a@192.0.2.9>;tag=a\r\nTo: <sip:bot@192.0.2.1>\r\nCall-ID: a\r\nCSeq: 1 OPTIONS\r\n"
                        + "Content-Length: 0\r\n\r\n").utf8))
        }

        func count(_ method: SIP.Method) -> Int { messages.filter { $0.method == method }.count }
    }

    static let asked: [(via: String, isTrusted: Bool, isUsed: Bool)] = [
        ("192.0.2.9:5060;alias", true, true), ("192.0.2.9;alias", true, true), ("edge.example.com;alias", true, true),
        ("192.0.2.9:5060;alias", false, false), ("192.0.2.9:5060", true, false), ("192.0.2.8:5060;alias", true, false),
        ("192.0.2.9:5070;alias", true, false)
    ]

    @Test(arguments: asked) func overTCPWhoIsTrusted(via: String, isTrusted: Bool, isUsed: Bool) throws {
        let world = VirtualWorld(seed: 2)
        let engine = try world.engine(
            at: "192.0.2.1",
            settings: { settings in
                let network = IPNetwork(isTrusted ? "192.0.2.9/32" : "198.51.100.0/24")!
                settings.lines = [LineSettings(name: "edge", server: "192.0.2.9", from: [network])]
            })
        let peer = Peer(world, from: "192.0.2.9", via: via)
        world.loop.run(for: .seconds(1))
        #expect(peer.messages.map(\.status) == [200])
        var end: CallEnd?
        let call = try engine.shard(0).place(CallRequest(target: "sip:x@192.0.2.9;transport=tcp"))
        call.onEnd = { end = $0 }
        world.loop.run(for: .seconds(1))
        #expect(peer.count(.invite) == (isUsed ? 1 : 0))
        if isUsed {
            #expect(end == nil)
            peer.stream.close()
            world.loop.run(for: .seconds(1))
        }
        #expect(end?.cause == .unreachable, "at once: nobody listens there, or the stream has ended")
        peer.stream.close()
        #expect(world.finish() == [])
    }
}
