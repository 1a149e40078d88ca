// A line with two edge proxies (RFC 5626): each has a flow of its own; when one is lost the other carries the calls, and the lost one comes
// back.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct SeveralFlowsTests {
    /// An edge proxy of a few lines: it answers REGISTER by the stream that it came by, and keeps what else comes.
    private final class Edge {
        private let world: VirtualWorld
        private let address: SocketAddress
        private var listener: StreamListener?
        private var streams: [(stream: StreamConnection, framer: StreamFramer)] = []
        private(set) var requests: [Message] = []
        /// REGISTER: with the time.
        private(set) var registrations: [(message: Message, at: Instant)] = []
        var status = 200
        /// What the INVITE is answered with; nil: not at all.
        var inviteStatus: Int? = 486

        init(_ world: VirtualWorld, _ ip: String) throws {
            self.world = world
            address = SocketAddress(ip: IPAddress(ip)!, port: 5060)
            try open()
        }

        func open() throws {
            listener = try world.loop.listen(on: address, options: StreamOptions()) { [unowned self] stream in
                let index = streams.count
                streams.append((stream, StreamFramer()))
                stream.onReceive = { [unowned self] in received($0, index) }
            }
        }

        /// The proxy dies: nobody listens, and all connections end.
        func die() {
            listener?.close()
            for (stream, _) in streams { stream.abort() }
        }

        func count(_ method: SIP.Method) -> Int { requests.filter { $0.method == method }.count }

        private func received(_ bytes: UnsafeRawBufferPointer, _ index: Int) {
            streams[index].framer.append(bytes)
            while case .message(let request)? = streams[index].framer.next() {
                guard request.isRequest, request.method != .ack else { continue }
                requests.append(request)
                guard request.method == .register else {
                    if let inviteStatus { answer(request, inviteStatus, "", index) }
                    continue
                }
                registrations.append((request, world.loop.now))
                let leaves = request.header("Expires") == "0"
                // The registrar lists both flows of the device, each with its own expiry.
                let contact = request.header("Contact") ?? ""
                let other = contact.replacing("reg-id=1", with: "reg-id=x").replacing("reg-id=2", with: "reg-id=1")
                    .replacing("reg-id=x", with: "reg-id=2").replacing("expires=3600", with: "expires=5")
                let rows =
                    leaves ? "" : "Contact: \(other)\r\nContact: \(contact.replacing("expires=3600", with: "expires=600"))\r\n"
                answer(request, status, status == 200 ? "Require: outbound\r\n" + rows : "", index)
            }
        }

        private func answer(_ request: Message, _ status: Int, _ rows: String, _ index: Int) {
            var writer = MessageWriter()
            writer.response(status, to: request, tag: Array("edge".utf8)[...], source: streams[index].stream.peerAddress)
            writer.append(Array(rows.utf8))
            writer.finish()
            writer.octets.withUnsafeBytes { _ = streams[index].stream.send($0) }
        }
    }

    private func scene(_ seed: UInt64) throws -> (VirtualWorld, Engine, Edge, Edge) {
        let world = VirtualWorld(seed: seed)
        let edges = (try Edge(world, "192.0.2.8"), try Edge(world, "192.0.2.9"))
        var line = LineSettings(
            name: "desk", server: "192.0.2.8", transport: .tcp, username: "desk", password: Secret("geheim"),
            registration: .init(domain: "pbx.example.com", instance: "urn:uuid:desk"))
        line.registration?.edges = [.init(server: "192.0.2.8"), .init(server: "192.0.2.9", port: 5060)]
        let engine = try world.engine(at: "192.0.2.1", settings: { $0.lines = [line] })
        engine.startLines()
        world.loop.run(for: .seconds(1))
        return (world, engine, edges.0, edges.1)
    }

    private func finish(_ world: VirtualWorld, _ engine: Engine, _ edges: Edge...) {
        engine.stopLines()
        world.loop.run(for: .seconds(40))
        #expect(engine.lines.areAllEnded)
        for edge in edges { edge.die() }
        #expect(world.finish() == [])
    }

    private func call(_ engine: Engine, _ world: VirtualWorld) throws -> CallEnd? {
        var end: CallEnd?
        let call = try engine.shard(0).place(CallRequest(target: "100", line: "desk"))
        call.onEnd = { end = $0 }
        world.loop.run(for: .seconds(1))
        return end
    }

    @Test func eachEdgeHasAFlowOfItsOwn() throws {
        let (world, engine, first, second) = try scene(1)
        #expect(engine.lines.statuses.map(\.state) == [.registered])
        for (edge, id, route) in [
            (first, "1", "<sip:192.0.2.8;transport=tcp;lr>"), (second, "2", "<sip:192.0.2.9:5060;transport=tcp;lr>")
        ] {
            let request = try #require(edge.registrations.first?.message)
            #expect(edge.registrations.count == 1)
            #expect(request.header("Contact")?.contains(";reg-id=\(id);+sip.instance=\"<urn:uuid:desk>\"") == true)
            #expect(text(request.requestURIOctets) == "sip:pbx.example.com" && request.header(.route) == route)
            #expect(request.lists(.supported, "outbound"))
        }
        // Each flow is refreshed by its own expiry.
        world.loop.run(for: .seconds(590))
        #expect(first.registrations.count == 2 && second.registrations.count == 2)
        #expect(try call(engine, world)?.cause == .busy)
        #expect(first.count(.invite) == 1 && second.count(.invite) == 0)
        #expect(first.requests.last { $0.method == .invite }?.header(.route) == "<sip:192.0.2.8;transport=tcp;lr>")
        finish(world, engine, first, second)
        #expect(
            first.registrations.last?.message.header("Expires") == "0"
                && second.registrations.last?.message.header("Expires") == "0")
    }

    @Test func whenOneIsLostTheOtherCarriesTheCalls() throws {
        let (world, engine, first, second) = try scene(2)
        first.die()
        world.loop.run(for: .milliseconds(100))
        #expect(engine.lines.statuses.map(\.state) == [.registered])
        #expect(try call(engine, world)?.cause == .busy)
        #expect(second.count(.invite) == 1 && first.count(.invite) == 0)
        #expect(second.requests.last { $0.method == .invite }?.header(.route) == "<sip:192.0.2.9:5060;transport=tcp;lr>")
        world.loop.run(for: .seconds(600))
        #expect(engine.lines.statuses.map(\.state) == [.registered], "by the flow that works")
        #expect(
            engine.lines.statuses[0].failures >= 1 && engine.lines.statuses[0].failures <= 5,
            "90 s, then twice that, half by chance")
        try first.open()
        world.loop.run(for: .seconds(1800))
        #expect(try call(engine, world)?.cause == .busy)
        #expect(first.count(.invite) == 1 && second.count(.invite) == 1, "the first one is the first again")
        finish(world, engine, first, second)
    }

    @Test func aCallThatOneEdgeDoesNotTakeGoesByTheOther() throws {
        let (world, engine, first, second) = try scene(3)
        first.inviteStatus = 503
        #expect(try call(engine, world)?.cause == .busy)
        #expect(first.count(.invite) == 1 && second.count(.invite) == 1)
        let (one, two) = (
            try #require(first.requests.last { $0.method == .invite }),
            try #require(second.requests.last { $0.method == .invite })
        )
        #expect(one.callID == two.callID && two.cSeq == one.cSeq + 1 && two.header(.route)?.contains("192.0.2.9") == true)
        // Both: that is the end.
        second.inviteStatus = 503
        #expect(try call(engine, world)?.cause == .unreachable)
        #expect(first.count(.invite) == 2 && second.count(.invite) == 2)
        finish(world, engine, first, second)
    }

    @Test func whenBothAreLostTheLineIs() throws {
        let (world, engine, first, second) = try scene(4)
        first.die()
        second.die()
        world.loop.run(for: .seconds(10))
        #expect(engine.lines.statuses.map(\.state) == [.failed])
        #expect(engine.lines.statuses[0].detail.contains("192.0.2."), "which edge it was")
        try second.open()
        world.loop.run(for: .seconds(120))
        #expect(engine.lines.statuses.map(\.state) == [.registered])
        #expect(try call(engine, world)?.cause == .busy)
        #expect(second.count(.invite) == 1)
        finish(world, engine, second)
    }

    @Test func aRefusalNamesItsEdge() throws {
        let (world, engine, first, second) = try scene(5)
        second.status = 403
        world.loop.run(for: .seconds(600))
        #expect(engine.lines.statuses.map(\.state) == [.registered], "by the other flow")
        #expect(engine.lines.statuses[0].detail.hasPrefix("192.0.2.9:5060: the registrar refused: 403"))
        finish(world, engine, first, second)
    }
}
