// Calls over TLS in virtual time: Via and Contact, connections that are used again and those that fail, what a refused certificate does
// to a call.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite(.enabled(if: TestCertificates.standard != nil, "there is no openssl program")) struct SecureCallTests {
    private var made: TestCertificates { TestCertificates.standard! }

    private func settings(_ certificate: String?, at ip: String, listens: Bool = true) throws -> (inout EngineSettings) -> Void {
        let context = try TLSContext(made.settings(certificate))
        return { settings in
            settings.tls = context
            if listens { settings.listeners.append(.init(.tls, SocketAddress(ip: IPAddress(ip)!, port: 5061))) }
        }
    }

    private func answering(_ call: Call) { call.loop.spawn { try? await call.answer() } }

    /// What passed, as text.
    private final class Messages: Sendable {
        private let list = Locked<[(sent: Bool, remote: SocketAddress, text: String)]>([])
        var trace: @Sendable (TracedMessage) -> Void {
            { message in
                let text = String(decoding: message.bytes, as: UTF8.self)
                self.list.withLock { $0.append((message.direction == .sent, message.remote, text)) }
            }
        }
        var all: [(sent: Bool, remote: SocketAddress, text: String)] { list.withLock { $0 } }
        func first(_ start: String) -> String { all.first { $0.text.hasPrefix(start) }?.text ?? "" }
    }

    @Test(arguments: ["sip:bot@192.0.2.1;transport=tls", "sips:bot@192.0.2.1"]) func aCallOverTLS(target: String) throws {
        let world = VirtualWorld(seed: 1)
        let messages = Messages()
        let servers = try world.engine(
            at: "192.0.2.1", settings: settings("hosts", at: "192.0.2.1"), trace: messages.trace, onIncoming: answering)
        let callers = try world.engine(at: "192.0.2.2", settings: settings("hosts", at: "192.0.2.2"))
        for round in 0..<3 {
            let call = try callers.shard(0).place(CallRequest(target: target))
            world.loop.run(for: .seconds(2))
            #expect(call.state == .answered)
            // Each side hangs up once.
            if round == 1 {
                for other in servers.shard(0).activeCalls { other.hangUp(.normal) }
            } else {
                call.hangUp(.normal)
            }
            world.loop.run(for: .seconds(2))
            #expect(call.state == .ended(CallEnd(by: round == 1 ? .callee : .caller, cause: .normal)))
        }
        let invite = messages.first("INVITE ")
        #expect(invite.contains("Via: SIP/2.0/TLS 192.0.2.2:5061;branch="))
        let isSIPS = target.hasPrefix("sips")
        #expect(invite.contains(isSIPS ? "Contact: <sips:192.0.2.2:5061>" : "Contact: <sip:192.0.2.2:5061;transport=tls>"))
        let answer = messages.first("SIP/2.0 200")
        #expect(answer.contains(isSIPS ? "Contact: <sips:192.0.2.1:5061>" : "Contact: <sip:192.0.2.1:5061;transport=tls>"))
        // One connection for all, also for what the called side said first.
        #expect(callers.signalingCounters.streamsOpened == 1 && callers.signalingCounters.handshakes == 1)
        #expect(servers.signalingCounters.streamsOpened == 0)
        #expect(world.finish() == [])
    }

    @Test func withoutAListenerThePeerUsesTheConnection() throws {
        let world = VirtualWorld(seed: 2)
        let messages = Messages()
        _ = try world.engine(
            at: "192.0.2.1", settings: settings("hosts", at: "192.0.2.1"), trace: messages.trace,
            onIncoming: { call in
                call.loop.spawn {
                    try? await call.answer()
                    try? await call.loop.sleep(for: .seconds(1))
                    call.hangUp(.normal)
                }
            })
        let callers = try world.engine(at: "192.0.2.2", settings: settings(nil, at: "192.0.2.2", listens: false))
        let call = try callers.shard(0).place(CallRequest(target: "sips:bot@192.0.2.1"))
        world.loop.run(for: .seconds(5))
        #expect(call.state == .ended(CallEnd(by: .callee, cause: .normal)))
        let remote = try #require(messages.all.first?.remote)
        #expect(messages.first("INVITE ").contains("Contact: <sips:\(remote)>"))
        #expect(world.finish() == [])
    }

    static let refusals: [(String, String)] = [
        ("expired", "the certificate is refused: certificate has expired"),
        ("self", "the certificate is refused: self-signed certificate"),
        ("other", "the certificate is not for 192.0.2.1 but for other.example.com")
    ]

    @Test(arguments: refusals) func aRefusedCertificateIsTheEndOfTheCallAndSaysSo(certificate: String, why: String) throws {
        let world = VirtualWorld(seed: 3)
        _ = try world.engine(at: "192.0.2.1", settings: settings(certificate, at: "192.0.2.1"), onIncoming: answering)
        let notices = Locked<[SignalingNotice]>([])
        let callers = try world.engine(
            at: "192.0.2.2", settings: settings(nil, at: "192.0.2.2", listens: false),
            onNotice: { notice in notices.withLock { $0.append(notice) } })
        let call = try callers.shard(0).place(CallRequest(target: "sips:bot@192.0.2.1"))
        let other = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(2))
        let reason = "TLS with 192.0.2.1:5061: \(why)"
        #expect(
            call.state == .ended(CallEnd(by: .engine, cause: .unreachable, detail: "the INVITE could not be sent: \(reason)")))
        #expect(notices.withLock { $0 } == [.failed(reason)])
        #expect(other.state == .answered, "a failed connection is nobody else's end")
        other.hangUp(.normal)
        #expect(world.finish() == [])
    }

    @Test func aLostConnectionEndsNoCallThatStandsAndIsMadeAnewForItsName() throws {
        let world = VirtualWorld(seed: 4)
        let long: (inout EngineSettings) -> Void = { $0.rtpTimeout = .seconds(3600) }
        let servers = try world.engine(
            at: "127.0.0.1",
            settings: { settings in
                try? self.settings("local", at: "127.0.0.1")(&settings)
                long(&settings)
            }, onIncoming: answering)
        let callers = try world.engine(
            at: "127.0.0.2",
            settings: { settings in
                try? self.settings(nil, at: "127.0.0.2", listens: false)(&settings)
                long(&settings)
                settings.lines = [LineSettings(name: "carrier", server: "localhost", transport: .tls)]
            })
        let call = try callers.shard(0).place(CallRequest(target: "100", line: "carrier"))
        // Pings are answered: the connection stays.
        world.loop.run(for: .seconds(1000))
        #expect(call.state == .answered)
        #expect(callers.signalingCounters.streamsOpened == 1)
        // Now they are not: it is given up.
        world.network.partition(IPAddress("127.0.0.1")!)
        world.loop.run(for: .seconds(120))
        world.network.heal(IPAddress("127.0.0.1")!)
        world.loop.run(for: .seconds(1))
        #expect(call.state == .answered)
        call.hangUp(.normal)
        world.loop.run(for: .seconds(2))
        #expect(servers.callCounters.ended[.normal] == 1)
        // The second handshake was for the name that was called, and short: the server knew this client again.
        #expect(callers.signalingCounters.handshakes == 2 && callers.signalingCounters.handshakesResumed == 1)
        #expect(world.finish() == [])
    }

    @Test func aCertificateIsChangedWhileCallsRun() throws {
        let world = VirtualWorld(seed: 5)
        let servers = try world.engine(at: "192.0.2.1", settings: settings("expired", at: "192.0.2.1"), onIncoming: answering)
        let callers = try world.engine(at: "192.0.2.2", settings: settings(nil, at: "192.0.2.2", listens: false))
        let refused = try callers.shard(0).place(CallRequest(target: "sips:bot@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        #expect(refused.state.isEnded)
        servers.use(try TLSContext(made.settings("hosts")))
        let call = try callers.shard(0).place(CallRequest(target: "sips:bot@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        #expect(call.state == .answered)
        // The connection keeps what it began with.
        servers.use(try TLSContext(made.settings("expired")))
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        #expect(world.finish() == [])
    }

    @Test func slowAndSilentPeersHoldNothingForLong() throws {
        let world = VirtualWorld(seed: 6)
        let notices = Locked<[SignalingNotice]>([])
        let servers = try world.engine(
            at: "192.0.2.1", settings: settings("hosts", at: "192.0.2.1"),
            onNotice: { notice in notices.withLock { $0.append(notice) } }, onIncoming: answering)
        let address = SocketAddress("192.0.2.1:5061")!
        var ended = 0
        for _ in 0..<600 {
            let stream = world.loop.openStream(to: address, from: SocketAddress("192.0.2.9:0")!)
            stream.onClose = { _ in ended += 1 }
            stream.send([0x16, 3, 1])
        }
        world.loop.run(for: .seconds(1))
        #expect(servers.signalingCounters.streamsRefused == 344, "256 handshakes of one address at a time")
        #expect(ended == 344)
        #expect(notices.withLock { $0.count } == 5)
        // Others are served meanwhile.
        let callers = try world.engine(at: "192.0.2.2", settings: settings(nil, at: "192.0.2.2", listens: false))
        let call = try callers.shard(0).place(CallRequest(target: "sips:bot@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        #expect(call.state == .answered)
        world.loop.run(for: .seconds(10))
        #expect(ended == 600)
        #expect(servers.signalingCounters.handshakesFailed == 256)
        // A stream that brings no message is not kept either, with TLS or without.
        let silent = world.loop.openStream(to: SocketAddress("192.0.2.1:5060")!, from: SocketAddress("192.0.2.9:0")!)
        silent.onClose = { _ in ended += 1 }
        silent.send(Array("INVITE sip:".utf8))
        world.loop.run(for: .seconds(45))
        #expect(ended == 601)
        call.hangUp(.normal)
        #expect(world.finish() == [])
    }
}
