// Requests that are too large for a datagram go over TCP, and over UDP after all where there is no TCP (RFC 3261 section 18.1.1).

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct LargeRequestTests {
    private func call(_ world: VirtualWorld, _ callers: Engine, octets: Int) throws -> Call {
        var request = CallRequest(target: "sip:bot@192.0.2.1")
        request.headers = [CallHeader(name: "X-Data", value: String(repeating: "x", count: octets))]
        let call = try callers.shard(0).place(request)
        world.loop.run(for: .seconds(2))
        return call
    }

    private func vias(_ messages: Locked<[String]>) -> [String] {
        messages.withLock { $0 }.compactMap { text in
            guard !text.hasPrefix("SIP/2.0"), let via = text.firstMatch(of: #/Via: SIP/2\.0/([A-Z]+) /#) else { return nil }
            return "\(text.prefix { $0 != " " }) \(via.1)"
        }
    }

    private func world(_ seed: UInt64, tcp: Bool) throws -> (VirtualWorld, Engine, Locked<[String]>) {
        let world = VirtualWorld(seed: seed)
        let messages = Locked<[String]>([])
        _ = try world.engine(
            at: "192.0.2.1", settings: { if !tcp { $0.listeners.removeAll { $0.transport == .tcp } } },
            onIncoming: { call in call.loop.spawn { try? await call.answer() } })
        let callers = try world.engine(
            at: "192.0.2.2", settings: nil,
            trace: { message in
                guard message.direction == .sent else { return }
                messages.withLock { $0.append(String(decoding: message.bytes, as: UTF8.self)) }
            })
        return (world, callers, messages)
    }

    @Test func aLargeInviteGoesOverTCP() throws {
        let (world, callers, messages) = try world(1, tcp: true)
        for octets in [10, 1200] {
            let call = try call(world, callers, octets: octets)
            #expect(call.state == .answered)
            call.hangUp(.normal)
            world.loop.run(for: .seconds(1))
            #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        }
        #expect(vias(messages) == ["INVITE UDP", "ACK UDP", "BYE UDP", "INVITE TCP", "ACK TCP", "BYE TCP"])
        #expect(world.finish() == [])
    }

    @Test func whereThereIsNoTCPItGoesOverUDPAfterAll() throws {
        let (world, callers, messages) = try world(2, tcp: false)
        for _ in 0..<2 {
            let call = try call(world, callers, octets: 1200)
            #expect(call.state == .answered)
            call.hangUp(.normal)
            world.loop.run(for: .seconds(1))
            #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        }
        // The second call knows it.
        let once = ["INVITE UDP", "ACK UDP", "BYE UDP"]
        #expect(vias(messages) == ["INVITE TCP"] + once + once)
        #expect(world.finish() == [])
    }

    /// The INVITE grows beyond the limit by the credentials that its peer, who has UDP alone, asked for.
    @Test func credentialsThatMakeItLargeGoOverUDPAfterAll() throws {
        let world = VirtualWorld(seed: 3)
        let peer = try SIPPeer(world, "192.0.2.1")
        peer.answer = { [unowned peer] request in
            guard request.method == .invite else { return .init(status: 200) }
            return request.has(.proxyAuthorization)
                ? .init(status: 200, body: peer.description)
                : .init(status: 407, rows: "Proxy-Authenticate: Digest realm=\"raw\", nonce=\"n\", qop=\"auth\"\r\n")
        }
        let callers = try world.engine(at: "192.0.2.2") { settings in
            settings.lines = [LineSettings(name: "raw", server: "192.0.2.1", username: "raw", password: Secret("geheim"))]
        }
        var request = CallRequest(target: "sip:bot@192.0.2.1", line: "raw")
        request.headers = [CallHeader(name: "X-Data", value: String(repeating: "x", count: 350))]
        let call = try callers.shard(0).place(request)
        world.loop.run(for: .seconds(2))
        let invites = peer.requests.filter { $0.method == .invite }
        let sizes = invites.map(\.octets.count)
        #expect(sizes.count == 2 && sizes[0] <= 1300 && sizes[1] > 1300, "\(sizes)")
        #expect(call.state == .answered)
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        peer.close()
        #expect(world.finish() == [])
    }

    // A request in the dialog moves as well; the dialog stays where it is.
    @Test(arguments: [true, false]) func aLargeRequestInTheDialogGoesOverTCP(tcp: Bool) throws {
        let (world, callers, messages) = try world(tcp ? 3 : 4, tcp: tcp)
        let call = try call(world, callers, octets: 10)
        var results: [TransferResult?] = []
        for _ in 0..<2 {
            let request = TransferRequest(
                target: "sip:\(String(repeating: "x", count: 1000))@192.0.2.4", isAttended: false, timeout: .seconds(5))
            call.loop.spawn { results.append(try? await call.transfer(request)) }
            world.loop.run(for: .seconds(2))
        }
        #expect(results.map { $0?.outcome } == [.refused, .refused] && results.map { $0?.status } == [603, 603])
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        let refers = tcp ? ["REFER TCP", "REFER TCP"] : ["REFER TCP", "REFER UDP", "REFER UDP"]
        #expect(vias(messages) == ["INVITE UDP", "ACK UDP"] + refers + ["BYE UDP"])
        // Where it came from is where its answer goes, by the Via that it says.
        #expect(messages.withLock { $0.contains { $0.contains("Via: SIP/2.0/TCP 192.0.2.2:5060;branch=") } })
        #expect(world.finish() == [])
    }
}
