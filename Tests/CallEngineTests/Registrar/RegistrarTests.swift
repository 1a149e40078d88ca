// The registrar of an engine and the phones that log in, on the virtual network: all of a user's devices ring, and stay known over a restart.

import Basics
import CallEngine
import Glibc
import Reactor
import SIP
import TestKit
import Testing

/// A registrar with the users anna and hall, and phones that are engines with a registered line.
final class RegistrarTown {
    let world: VirtualWorld
    let server: Engine
    private(set) var phones: [String: Engine] = [:]
    private(set) var ends: [String: CallEnd] = [:]
    private(set) var rang: [String] = []
    private var stranger: Engine?

    static func settings(longest: Int = 3600) -> RegistrarSettings {
        RegistrarSettings(
            realm: "example.com",
            users: [
                "anna": DigestSecret(user: "anna", realm: "example.com", password: "geheim"),
                "hall": DigestSecret(user: "hall", realm: "example.com", password: "flur")
            ], longest: longest)
    }

    init(seed: UInt64, file: String? = nil, longest: Int = 3600) throws {
        world = VirtualWorld(seed: seed)
        server = try world.engine(
            at: "192.0.2.1",
            settings: {
                $0.registrar = Self.settings(longest: longest)
                $0.registrarFile = file
                $0.redirects.limit = 2
            })
    }

    /// A phone that logs in, and answers after `answer`; nil: it rings on.
    func phone(
        _ ip: String, user: String = "anna", password: String = "geheim", transport: EngineSettings.Listener.Transport = .udp,
        answer: Duration? = nil
    ) throws {
        let engine = try world.engine(
            at: ip,
            settings: {
                $0.redirects.limit = 2
                $0.lines = [
                    LineSettings(
                        name: "home", server: "192.0.2.1", transport: transport, username: user, password: Secret(password),
                        registration: .init(domain: "example.com", instance: "urn:uuid:\(ip)"))
                ]
            })
        engine.shard(0).onIncoming = { [unowned self] call in
            rang.append("\(ip) \(call.info.line)")
            call.onEnd = { [unowned self] in ends[ip] = $0 }
            call.loop.spawn {
                do {
                    try call.ring()
                    guard let answer else { return }
                    try await call.loop.sleep(for: answer)
                    try await call.answer()
                } catch {}
            }
        }
        phones[ip] = engine
        engine.startLines()
    }

    /// Calls the server, which connects with `targets`.
    func call(_ targets: [String], timeout: Duration = .seconds(10)) throws -> (caller: Call, result: () -> BridgeResult?) {
        let caller = try phones.first?.value ?? stranger ?? world.engine(at: "192.0.2.200")
        stranger = caller
        var result: BridgeResult?
        server.shard(0).onIncoming = { call in
            let task = call.loop.spawn {
                result = try? await call.bridge(BridgeRequest(targets: targets, timeout: timeout))
                call.hangUp(.normal)
            }
            call.onEnd = { _ in task.cancel() }
        }
        return (try caller.shard(0).place(CallRequest(target: "sip:hub@192.0.2.1")), { result })
    }

    var contacts: [String] {
        server.registrar!.devices(of: "anna", at: world.loop.now).map { String(decoding: $0.contact, as: UTF8.self) }
    }

    /// Phones log out.
    func finish() -> [String] {
        for phone in phones.values { phone.stopLines() }
        return world.finish()
    }
}

@Suite struct EngineRegistrarTests {
    @Test func allDevicesRingAndTheFirstToAnswerWins() throws {
        let town = try RegistrarTown(seed: 1)
        try town.phone("192.0.2.11", answer: .seconds(3))
        try town.phone("192.0.2.12")
        try town.phone("192.0.2.13", transport: .tcp)
        try town.phone("192.0.2.14", user: "hall", password: "flur")
        town.world.loop.run(for: .seconds(2))
        #expect(town.contacts.count == 3)
        let (caller, _) = try town.call(["user:anna"])
        town.world.loop.run(for: .seconds(8))
        #expect(town.rang.sorted() == ["192.0.2.11 home", "192.0.2.12 home", "192.0.2.13 home"])
        #expect(caller.state == .answered)
        #expect(town.ends["192.0.2.12"] == .answeredElsewhere)
        #expect(town.ends["192.0.2.13"] == .answeredElsewhere)
        #expect(caller.info.media.received > 100)
        caller.hangUp(.normal)
        #expect(town.finish() == [])
    }

    // RFC 5627: a call for the GRUU of a device rings this device alone, and a phone that has one names it in its calls.
    @Test func aCallForOneDeviceRingsThatOne() throws {
        let town = try RegistrarTown(seed: 11)
        try town.phone("192.0.2.11")
        try town.phone("192.0.2.12")
        town.world.loop.run(for: .seconds(2))
        var contact: String?
        town.server.shard(0).onIncoming = { call in
            contact = call.info.headers.first { $0.name == "Contact" }?.value
            let task = call.loop.spawn {
                _ = try? await call.bridge(BridgeRequest(targets: ["user:anna"], timeout: .seconds(10)))
            }
            call.onEnd = { _ in task.cancel() }
        }
        let stranger = try town.world.engine(at: "192.0.2.201")
        let call = try stranger.shard(0).place(CallRequest(target: "sip:anna@192.0.2.1;gr=urn:uuid:192.0.2.12"))
        town.world.loop.run(for: .seconds(2))
        #expect(town.rang == ["192.0.2.12 home"])
        call.hangUp(.normal)
        town.world.loop.run(for: .seconds(1))
        let own = try #require(town.phones["192.0.2.11"]).shard(0).place(CallRequest(target: "100", line: "home"))
        town.world.loop.run(for: .seconds(2))
        #expect(contact == "<sip:anna@example.com;gr=urn:uuid:192.0.2.11>")
        own.hangUp(.normal)
        town.world.loop.run(for: .seconds(1))
        #expect(town.finish() == [])
    }

    @Test func aUserWhoIsNowhereCannotBeReached() throws {
        let town = try RegistrarTown(seed: 2)
        for target in ["user:anna", "user:eve"] {
            let (_, result) = try town.call([target])
            town.world.loop.run(for: .seconds(2))
            #expect(result()?.outcome == .unreachable && result()?.target == target)
        }
        #expect(town.finish() == [])
    }

    @Test func logsInWithTheRightPasswordOnlyAndLeaves() throws {
        let town = try RegistrarTown(seed: 3)
        try town.phone("192.0.2.11")
        try town.phone("192.0.2.12", password: "falsch")
        try town.phone("192.0.2.13", user: "eve")
        town.world.loop.run(for: .seconds(5))
        #expect(town.contacts.count == 1)
        #expect(town.phones["192.0.2.12"]!.lines.statuses[0].detail == "the registrar refused: 403 Forbidden")
        #expect(town.server.registrar!.figures.answers == [200: 1, 401: 3, 403: 2])
        town.phones["192.0.2.11"]!.stopLines()
        town.world.loop.run(for: .seconds(1))
        #expect(town.contacts.isEmpty)
        #expect(town.finish() == [])
    }

    /// The file is read by the next process; a connection of before it leads nowhere, but its device comes again.
    @Test func devicesAreKnownAfterARestart() throws {
        var template = Array("/tmp/ringwright-XXXXXX\0".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        let path = "\(folder)/registrations"
        defer {
            unlink(path)
            rmdir(folder)
        }
        let before = try RegistrarTown(seed: 4, file: path)
        try before.phone("192.0.2.11")
        before.world.loop.run(for: .seconds(4))
        let contacts = before.contacts
        #expect(contacts.count == 1)
        let written = try #require(try AtomicFile.read(path))
        #expect(String(decoding: written, as: UTF8.self).contains("192.0.2.11"))
        try before.phone("192.0.2.12", user: "hall", password: "flur")
        before.world.loop.run(for: .seconds(1))
        // What came since the last look is written at the end.
        before.server.close()

        let after = try RegistrarTown(seed: 5, file: path)
        #expect(after.contacts == contacts)
        #expect(after.server.registrar!.figures.bindings == 2)
        // The phone itself noticed nothing: it is rung by its registration of before.
        let phone = try after.world.engine(at: "192.0.2.11")
        var rang = 0
        phone.shard(0).onIncoming = { call in
            rang += 1
            try? call.reject(status: 486, reason: nil, headers: [])
        }
        let (_, result) = try after.call(["user:anna"])
        after.world.loop.run(for: .seconds(3))
        #expect(rang == 1)
        #expect(result()?.outcome == .busy)
        // Nobody refreshes: it runs out.
        after.world.loop.run(for: .seconds(3700))
        #expect(after.contacts.isEmpty && after.server.registrar!.figures.bindings == 0)
        #expect(after.finish() == [])
    }

    @Test func lessPreferredDevicesRingLater() throws {
        let town = try RegistrarTown(seed: 6)
        for ip in ["192.0.2.11", "192.0.2.12"] { try town.phone(ip) }
        town.world.loop.run(for: .seconds(1))
        // A third device, by hand, with a lower preference.
        let socket = try town.world.loop.bindDatagram(to: SocketAddress("192.0.2.13:5060")!)
        var digest = DigestClient(credentials: Credentials(user: "anna", password: "geheim"), seed: 1)
        var cSeq = 0
        var later: [Message] = []
        func register() {
            cSeq += 1
            let rows = String(decoding: digest.headers(method: "REGISTER", uri: Array("sip:example.com".utf8)), as: UTF8.self)
            let text =
                "REGISTER sip:example.com SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.13:5060;branch=z9hG4bK\(cSeq);rport\r\nMax-Forwards: 70\r\nFrom: <sip:anna@example.com>;tag=a\r\nTo: <sip:anna@example.com>\r\nCall-ID: x\r\nCSeq: \(cSeq) REGISTER\r\nContact: <sip:slow@192.0.2.13>;q=0.1\r\n\(rows)Content-Length: 0\r\n\r\n"
            Array(text.utf8).withUnsafeBytes { socket.send($0, to: SocketAddress("192.0.2.1:5060")!) }
        }
        var request: Message?
        socket.onReceive = { bytes, _ in
            guard let message = try? Message(parsing: [UInt8](bytes)) else { return }
            if message.status == 401, cSeq == 1, let request {
                _ = digest.challenged(by: message, request: request)
                register()
            } else if message.method == .invite {
                later.append(message)
            }
        }
        request = try Message(
            parsing: Array(
                "REGISTER sip:example.com SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nContent-Length: 0\r\n\r\n".utf8))
        register()
        town.world.loop.run(for: .seconds(1))
        #expect(town.contacts.last == "sip:slow@192.0.2.13" && town.contacts.count == 3)
        _ = try town.call(["user:anna"], timeout: .seconds(5))
        town.world.loop.run(for: .seconds(4))
        #expect(town.rang.count == 2 && later.isEmpty)
        town.world.loop.run(for: .seconds(4))
        #expect(!later.isEmpty)
        #expect(try later.first?.requestURI().description == "sip:slow@192.0.2.13")
        #expect(try later.first?.to().uri().description == "sip:anna@example.com")
        socket.close()
        #expect(town.finish() == [])
    }
}

/// Many lines that register at one registrar, for an hour: scripts/long takes 20,000.
@Suite struct ManyRegistrationsTests {
    static let count = getenv("RINGWRIGHT_REGISTRATIONS").flatMap { Int(String(cString: $0)) } ?? 300

    /// Pages of memory in use, in octets.
    private static func residentMemory() -> Int {
        let text = (try? AtomicFile.read("/proc/self/statm")).flatMap { $0 } ?? []
        let fields = text.split(separator: UInt8(ascii: " "))
        return fields.count > 1 ? (Int(String(decoding: fields[1], as: UTF8.self)) ?? 0) * 4096 : 0
    }

    @Test func anHourOfRegistrations() throws {
        let names = (0..<Self.count).map { "user\($0)" }
        let world = VirtualWorld(seed: 9)
        let users = Dictionary(
            uniqueKeysWithValues: names.map { ($0, DigestSecret(user: $0, realm: "example.com", password: "p")) })
        let server = try world.engine(
            at: "192.0.2.1", settings: { $0.registrar = RegistrarSettings(realm: "example.com", users: users) })
        let phones = try world.engine(
            at: "192.0.2.2",
            settings: {
                $0.lines = names.map {
                    LineSettings(
                        name: $0, server: "192.0.2.1", username: $0, password: Secret("p"),
                        registration: .init(domain: "example.com", instance: "urn:uuid:\($0)"))
                }
            })
        let before = Self.residentMemory()
        phones.startLines()
        let seconds = 10 + Self.count / 100
        world.loop.run(for: .seconds(seconds))
        #expect(server.registrar!.figures.bindings == Self.count)
        let after = Self.residentMemory()
        world.loop.run(for: .seconds(3600))
        #expect(server.registrar!.figures.bindings == Self.count)
        #expect(phones.lines.statuses.allSatisfy { $0.state == .registered && $0.failures == 0 && $0.successes >= 2 })
        #expect(names.allSatisfy { server.registrar!.devices(of: $0, at: world.loop.now).count == 1 })
        if Self.count >= 10_000 {
            let answers = server.registrar!.figures.answers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
            print(
                "\(Self.count) registrations for an hour: both ends \((after - before) / Self.count) octets each after the first minutes,",
                "\((Self.residentMemory() - before) / Self.count) at the end; answers \(answers.joined(separator: ", "))")
        }
        phones.stopLines()
        #expect(world.finish() == [])
    }
}
