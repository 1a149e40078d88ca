// An INVITE that was given up and is answered all the same (RFC 3261 section 13.2.2.4): the far side must not believe in a call.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct LateAnswerTests {
    /// Says nothing until it is told to answer the INVITE.
    private final class SlowCallee {
        private let socket: DatagramSocket
        private var invite: (message: Message, source: SocketAddress)?
        private(set) var methods: [SIP.Method] = []

        init(_ world: VirtualWorld) throws {
            socket = try world.loop.bindDatagram(to: SocketAddress(ip: IPAddress("192.0.2.1")!, port: 5060))
            socket.onReceive = { [unowned self] bytes, source in
                guard let message = try? Message(parsing: Array(bytes)), let method = message.method else { return }
                if method == .invite {
                    invite = invite ?? (message, source)
                } else {
                    methods.append(method)
                    if method == .bye { send(message.response(200, source: source), to: source) }
                }
            }
        }

        func answer() throws {
            let (message, source) = try #require(invite)
            var writer = MessageWriter()
            writer.response(200, to: message, tag: Array("far".utf8)[...], source: source)
            writer.append(Array("Contact: <sip:callee@192.0.2.1>\r\n".utf8))
            writer.finish(body: [], type: "")
            send(writer.octets, to: source)
        }

        private func send(_ octets: [UInt8], to source: SocketAddress) {
            octets.withUnsafeBytes { socket.send($0, to: source) }
        }

        func close() { socket.close() }
    }

    @Test func isAcknowledgedAndLeft() throws {
        let world = VirtualWorld(seed: 1)
        let callee = try SlowCallee(world)
        let engine = try world.engine(at: "192.0.2.2")
        let call = try engine.shard(0).place(CallRequest(target: "sip:slow@192.0.2.1"))
        world.loop.run(for: .seconds(33))
        #expect(call.state == .ended(CallEnd(by: .engine, cause: .unreachable, detail: "no response to the INVITE")))
        #expect(engine.shard(0).heldCalls == 0)

        for _ in 0..<3 {
            try callee.answer()
            world.loop.run(for: .milliseconds(500))
        }
        #expect(callee.methods == [.ack, .bye, .ack, .ack])
        world.loop.run(for: .seconds(31))
        try callee.answer()
        world.loop.run(for: .seconds(6))
        #expect(callee.methods.count == 4)
        #expect(engine.shard(0).endpoint.held == 0)
        callee.close()
        #expect(world.finish() == [])
    }

    /// What waits for a late answer goes with its engine.
    @Test func anEngineThatClosesWaitsNoLonger() throws {
        let world = VirtualWorld(seed: 1)
        let callee = try SlowCallee(world)
        let engine = try world.engine(at: "192.0.2.2")
        _ = try engine.shard(0).place(CallRequest(target: "sip:slow@192.0.2.1"))
        world.loop.run(for: .seconds(33))
        #expect(engine.shard(0).endpoint.held > 0)
        callee.close()
        #expect(world.finish() == [])
    }
}
