// Registered lines on the virtual network: registering, being called and calling over one socket, and the many that fail together.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct RegisteredLineTests {
    static func line(_ name: String, server: String = "192.0.2.9") -> LineSettings {
        LineSettings(
            name: name, server: server, username: name, password: Secret("geheim"),
            registration: .init(domain: "pbx.example.com", instance: "urn:uuid:\(name)"))
    }

    @Test func registersRefreshesAndLeaves() throws {
        let world = VirtualWorld(seed: 1)
        let registrar = try ScriptedRegistrar(loop: world.loop, at: "192.0.2.9:5060")
        registrar.mode = .challenge(nonce: "n1")
        let engine = try world.engine(at: "192.0.2.1", settings: { $0.lines = [Self.line("desk")] })
        engine.startLines()
        world.loop.run(for: .seconds(1))
        #expect(engine.lines.statuses.map(\.state) == [.registered])
        #expect(registrar.requests.count == 2)
        #expect(registrar.requests.allSatisfy { $0.from == SocketAddress("192.0.2.1:5060") })
        world.loop.run(for: .seconds(3600))
        #expect((14...18).contains(registrar.requests.count))
        #expect(engine.lines.statuses[0].successes >= 12 && engine.lines.statuses[0].failures == 0)
        // Nothing between us changes addresses: no signs of life are needed.
        #expect(registrar.signsOfLife == 0)
        engine.stopLines()
        world.loop.run(for: .seconds(1))
        #expect(engine.lines.areAllEnded)
        #expect(registrar.requests.last?.message.header("Expires") == "0")
        registrar.close()
        #expect(world.finish() == [])
    }

    @Test func anotherAddressOfThisHostIsRegisteredAtOnce() throws {
        let world = VirtualWorld(seed: 12)
        world.network.hostAddress4 = IPAddress("192.0.2.1")!
        let registrar = try ScriptedRegistrar(loop: world.loop, at: "192.0.2.9:5060")
        let engine = try world.engine(
            at: "192.0.2.1",
            settings: {
                $0.listeners = [.init(.udp, SocketAddress("0.0.0.0:5060")!)]
                $0.lines = [Self.line("desk")]
            })
        engine.startLines()
        world.loop.run(for: .seconds(60))
        #expect(registrar.requests.count == 1)
        world.network.hostAddress4 = IPAddress("192.0.2.77")!
        world.loop.run(for: .seconds(20))
        #expect(registrar.requests.count == 2)
        #expect(registrar.requests.last?.message.header("Contact")?.contains("192.0.2.77") == true)
        #expect(engine.lines.statuses.map(\.state) == [.registered])
        // A line that waits after a failure tries again at once as well.
        registrar.mode = .refuse(403)
        world.network.hostAddress4 = IPAddress("192.0.2.78")!
        world.loop.run(for: .seconds(20))
        #expect(engine.lines.statuses.map(\.state) == [.failed] && registrar.requests.count == 3)
        registrar.mode = .accept
        world.network.hostAddress4 = IPAddress("192.0.2.79")!
        world.loop.run(for: .seconds(20))
        #expect(engine.lines.statuses.map(\.state) == [.registered] && registrar.requests.count == 4)
        engine.stopLines()
        world.loop.run(for: .seconds(1))
        registrar.close()
        #expect(world.finish() == [])
    }

    @Test func aCallToTheRegisteredContactBelongsToItsLine() throws {
        let world = VirtualWorld(seed: 2)
        let registrar = try ScriptedRegistrar(loop: world.loop, at: "192.0.2.9:5060")
        let engine = try world.engine(at: "192.0.2.1", settings: { $0.lines = [Self.line("desk"), Self.line("hall")] })
        var lines: [String] = []
        engine.shard(0).onIncoming = { call in
            lines.append("\(call.info.line) \(call.requestURI?.user ?? "")")
            try? call.reject(status: 486, reason: nil, headers: [])
        }
        engine.startLines()
        world.loop.run(for: .seconds(1))
        let contacts = try registrar.requests.map { try #require(try $0.message.firstContact()?.uri().description) }
        registrar.close()
        // A proxy elsewhere calls the contacts; the registrar's host calls a user, a number of its own, and someone unknown.
        let proxy = try world.engine(at: "192.0.2.8")
        let pbx = try world.engine(at: "192.0.2.9")
        for contact in contacts { _ = try proxy.shard(0).place(CallRequest(target: contact)) }
        world.loop.run(for: .seconds(1))
        _ = try pbx.shard(0).place(CallRequest(target: "sip:hall@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        _ = try proxy.shard(0).place(CallRequest(target: "sip:hall@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        #expect(lines.sorted() == [" hall", "desk desk", "hall hall", "hall hall"])
        #expect(world.finish() == [])
    }

    @Test func aCallGoesOutByTheRegistration() throws {
        let world = VirtualWorld(seed: 3)
        let registrar = try ScriptedRegistrar(loop: world.loop, at: "192.0.2.9:5060")
        registrar.rows = ["Service-Route: <sip:edge.example.com;lr>"]
        var line = Self.line("desk")
        line.callerID = "4711"
        let engine = try world.engine(at: "192.0.2.1", settings: { $0.lines = [line] })
        engine.startLines()
        world.loop.run(for: .seconds(1))
        let contact = try #require(registrar.requests.first?.message.firstContact()?.uri().description)
        registrar.close()
        var invite: CallInfo?
        _ = try world.engine(at: "192.0.2.9") { call in
            invite = call.info
            try? call.reject(status: 486, reason: nil, headers: [])
        }
        let call = try engine.shard(0).place(CallRequest(target: "100", line: "desk"))
        world.loop.run(for: .seconds(1))
        #expect(call.state == .ended(CallEnd(by: .callee, cause: .busy)))
        #expect(invite?.to.uri == "sip:100@pbx.example.com")
        #expect(invite?.from.uri == "sip:4711@pbx.example.com")
        let headers = try #require(invite?.headers)
        #expect(headers.first { $0.name == "Contact" }?.value == "<\(contact)>")
        #expect(headers.first { $0.name == "Route" }?.value == "<sip:edge.example.com;lr>")
        #expect(world.finish() == [])
    }

    @Test func aTCPFlowThatEndsIsRegisteredAnew() throws {
        let world = VirtualWorld(seed: 4)
        var streams: [StreamConnection] = []
        var requests = 0
        let listener = try world.loop.listen(on: SocketAddress("192.0.2.9:5060")!) { stream in
            streams.append(stream)
            stream.onReceive = { bytes in
                guard let request = try? Message(parsing: [UInt8](bytes)), request.method == .register else { return }
                requests += 1
                let contact = request.header("Contact") ?? ""
                var writer = MessageWriter()
                writer.response(200, to: request, tag: Array("r".utf8)[...], source: nil)
                writer.header("Contact", text: contact)
                writer.finish()
                _ = writer.octets.withUnsafeBytes { stream.send($0) }
            }
        }
        var line = Self.line("desk")
        line.transport = .tcp
        let engine = try world.engine(at: "192.0.2.1", settings: { $0.lines = [line] })
        engine.startLines()
        world.loop.run(for: .seconds(1))
        #expect(requests == 1 && streams.count == 1)
        streams[0].close()
        world.loop.run(for: .seconds(5))
        #expect(requests == 2 && streams.count == 2)
        #expect(engine.lines.statuses.map(\.state) == [.registered])
        streams[1].close()
        listener.close()
        engine.stopLines()
        #expect(world.finish() == [])
    }

    @Test func whatDoesNotWorkIsToldAndTriedAgain() throws {
        let world = VirtualWorld(seed: 5)
        let registrar = try ScriptedRegistrar(loop: world.loop, at: "192.0.2.9:5060")
        registrar.mode = .refuse(403)
        let engine = try world.engine(
            at: "192.0.2.1", settings: { $0.lines = [Self.line("a"), Self.line("b", server: "192.0.2.77")] })
        engine.startLines()
        world.loop.run(for: .seconds(60))
        #expect(engine.lines.statuses.map(\.state) == [.failed, .failed])
        #expect(engine.lines.statuses[0].detail == "the registrar refused: 403 Forbidden")
        #expect(engine.lines.statuses[1].detail == "the registrar could not be reached")
        registrar.mode = .accept
        world.loop.run(for: .seconds(600))
        #expect(engine.lines.statuses.map(\.state) == [.registered, .failed])
        engine.stopLines()
        world.loop.run(for: .seconds(60))
        registrar.close()
        #expect(world.finish() == [])
    }

    /// Five hundred lines whose registrar is away for ten minutes come back spread over time, each of them.
    @Test func thousandsOfLinesComeBackSpread() throws {
        let world = VirtualWorld(seed: 6)
        let registrar = try ScriptedRegistrar(loop: world.loop, at: "192.0.2.9:5060")
        let engine = try world.engine(
            at: "192.0.2.1", settings: { $0.lines = (0..<500).map { Self.line("line\($0)") } })
        engine.startLines()
        world.loop.run(for: .seconds(30))
        #expect(engine.lines.statuses.filter { $0.state == .registered }.count == 500)
        registrar.mode = .silent
        world.loop.run(for: .seconds(600))
        #expect(engine.lines.statuses.filter { $0.state == .registered }.isEmpty)
        let before = registrar.requests.count
        let back = world.loop.now
        registrar.mode = .accept
        world.loop.run(for: .seconds(900))
        #expect(engine.lines.statuses.filter { $0.state == .registered }.count == 500)
        var bySecond: [Int64: Int] = [:]
        for request in registrar.requests[before...] {
            bySecond[(request.at - back).nanoseconds / 1_000_000_000, default: 0] += 1
        }
        #expect(bySecond.values.max() ?? 0 < 25)
        engine.stopLines()
        world.loop.run(for: .seconds(60))
        registrar.close()
        #expect(world.finish() == [])
    }
}
