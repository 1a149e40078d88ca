// The registrar alone: who may register, and what becomes of contacts.

import Basics
import SIP
import Testing

/// A device that registers: it answers challenges and counts its requests.
struct RegisteringDevice {
    var user = "anna"
    var password = "geheim"
    var callID = "d1"
    var cSeq: UInt32 = 0
    var source = Hop(transport: .udp, address: SocketAddress("192.0.2.5:5060")!, connection: 1)
    var digest: DigestClient

    init(user: String = "anna", password: String = "geheim", callID: String = "d1", seed: UInt64 = 7) {
        self.user = user
        self.password = password
        self.callID = callID
        digest = DigestClient(credentials: Credentials(user: user, password: password), seed: seed)
    }

    mutating func request(_ rows: [String], to: String? = nil, vias: Int = 1) throws -> Message {
        cSeq += 1
        var text = "REGISTER sip:example.com SIP/2.0\r\n"
        for number in 0..<vias { text += "Via: SIP/2.0/UDP 192.0.2.\(5 + number);branch=z9hG4bK\(callID)\(cSeq)\r\n" }
        text += "Max-Forwards: 70\r\nFrom: <sip:\(user)@example.com>;tag=f\r\nTo: <sip:\(to ?? user)@example.com>\r\n"
        text += "Call-ID: \(callID)\r\nCSeq: \(cSeq) REGISTER\r\n"
        for row in rows { text += "\(row)\r\n" }
        text += String(decoding: digest.headers(method: "REGISTER", uri: Array("sip:example.com".utf8)), as: UTF8.self)
        return try Message(parsing: Array("\(text)Content-Length: 0\r\n\r\n".utf8))
    }

    /// Registers and answers one challenge.
    mutating func register(
        _ rows: String..., at registrar: inout Registrar, now: Instant = .zero, to: String? = nil, vias: Int = 1
    ) throws -> Registrar.Answer {
        var message = try request(rows, to: to, vias: vias)
        var answer = registrar.receive(message, from: source, at: now)
        guard answer.status == 401 else { return answer }
        var writer = MessageWriter()
        writer.response(401, to: message, tag: Array("r".utf8)[...], source: nil)
        writer.append(answer.rows)
        writer.finish()
        guard digest.challenged(by: try Message(parsing: writer.octets), request: message) == .retry else { return answer }
        message = try request(rows, to: to, vias: vias)
        answer = registrar.receive(message, from: source, at: now)
        return answer
    }
}

extension Registrar.Answer {
    var text: String { String(decoding: rows, as: UTF8.self) }
    /// The Contact values, in order.
    var contacts: [String] {
        text.split(separator: "\r\n").filter { $0.hasPrefix("Contact: ") }.map { String($0.dropFirst(9)) }
    }
}

@Suite struct RegistrarTests {
    static func registrar(_ adjust: (inout RegistrarSettings) -> Void = { _ in }) -> Registrar {
        var settings = RegistrarSettings(
            realm: "example.com",
            users: [
                "anna": DigestSecret(user: "anna", realm: "example.com", password: "geheim"),
                "hall": DigestSecret(user: "hall", realm: "example.com", password: "flur")
            ], contactLimit: 3)
        adjust(&settings)
        return Registrar(settings, secret: Array("s3cret".utf8))
    }

    func users(_ registrar: Registrar, at now: Instant = .zero) -> [String] {
        registrar.contacts(of: "anna", at: now).map { String(decoding: $0.contact, as: UTF8.self) }
    }

    @Test func addRefreshRemove() throws {
        var registrar = Self.registrar()
        var phone = RegisteringDevice()
        var answer = try phone.register("Contact: <sip:anna@192.0.2.5>", "Expires: 600", at: &registrar)
        #expect(answer.status == 200)
        #expect(answer.contacts == ["<sip:anna@192.0.2.5>;expires=600"])
        #expect(answer.changes == [.added(user: "anna", contact: Array("sip:anna@192.0.2.5".utf8), seconds: 600)])
        answer = try phone.register(
            "Contact: <sip:anna@192.0.2.5>;expires=900", "Expires: 600", at: &registrar, now: .zero + .seconds(60))
        #expect(answer.contacts == ["<sip:anna@192.0.2.5>;expires=900"])
        #expect(answer.changes == [.refreshed(user: "anna")])
        // A fetch shows and changes nothing.
        answer = try phone.register(at: &registrar, now: .zero + .seconds(160))
        #expect(answer.status == 200 && answer.contacts == ["<sip:anna@192.0.2.5>;expires=800"] && answer.changes.isEmpty)
        #expect(users(registrar, at: .zero + .seconds(959)).count == 1)
        #expect(users(registrar, at: .zero + .seconds(960)).isEmpty)
        answer = try phone.register("Contact: <sip:anna@192.0.2.5>;expires=0", at: &registrar, now: .zero + .seconds(200))
        #expect(answer.status == 200 && answer.contacts.isEmpty)
        #expect(answer.changes == [.removed(user: "anna", contact: Array("sip:anna@192.0.2.5".utf8))])
        #expect(registrar.table.count == 0)
    }

    @Test func manyDevicesAndTheirOrder() throws {
        var registrar = Self.registrar()
        var desk = RegisteringDevice(callID: "a")
        var mobile = RegisteringDevice(callID: "b", seed: 8)
        _ = try desk.register("Contact: <sip:desk@192.0.2.5>;q=0.5", at: &registrar)
        let answer = try mobile.register(
            "Contact: <sip:mobile@192.0.2.6>;q=0.7, <sip:car@192.0.2.6>;q=0.25;expires=120", at: &registrar)
        #expect(users(registrar) == ["sip:mobile@192.0.2.6", "sip:desk@192.0.2.5", "sip:car@192.0.2.6"])
        #expect(
            answer.contacts == [
                "<sip:desk@192.0.2.5>;expires=3600;q=0.500", "<sip:mobile@192.0.2.6>;expires=3600;q=0.700",
                "<sip:car@192.0.2.6>;expires=120;q=0.250"
            ])
        // The fourth is one too many, and nothing of its request happens.
        let refused = try desk.register(
            "Contact: <sip:desk@192.0.2.5>;expires=0, <sip:x@192.0.2.7>, <sip:y@192.0.2.7>", at: &registrar)
        #expect(refused.status == 403 && refused.reason == "Too Many Contacts")
        #expect(users(registrar).count == 3)
    }

    @Test func everythingGoesByAStar() throws {
        var registrar = Self.registrar()
        var phone = RegisteringDevice()
        _ = try phone.register("Contact: <sip:a@192.0.2.5>, <sip:b@192.0.2.5>", at: &registrar)
        for rows in [["Contact: *"], ["Contact: *", "Expires: 60"], ["Contact: *, <sip:a@192.0.2.5>", "Expires: 0"]] {
            let answer = registrar.receive(try phone.request(rows), from: phone.source, at: .zero)
            #expect(answer.status == 400)
            #expect(users(registrar).count == 2)
        }
        let answer = try phone.register("Contact: *", "Expires: 0", at: &registrar)
        #expect(answer.status == 200 && answer.contacts.isEmpty && answer.changes.count == 2)
        #expect(users(registrar).isEmpty)
    }

    @Test func timesOutsideOfTheLimits() throws {
        var registrar = Self.registrar()
        var phone = RegisteringDevice()
        let brief = try phone.register("Contact: <sip:a@192.0.2.5>;expires=30", at: &registrar)
        #expect(brief.status == 423 && brief.text == "Min-Expires: 60\r\n")
        #expect(
            try phone.register("Contact: <sip:a@192.0.2.5>;expires=99999", at: &registrar).contacts == [
                "<sip:a@192.0.2.5>;expires=3600"
            ])
        #expect(
            try phone.register("Contact: <sip:a@192.0.2.5>;expires=soon", at: &registrar).contacts == [
                "<sip:a@192.0.2.5>;expires=3600"
            ])
    }

    @Test func olderRequestsChangeNothing() throws {
        var registrar = Self.registrar()
        var phone = RegisteringDevice()
        _ = try phone.register("Contact: <sip:a@192.0.2.5>", at: &registrar)
        phone.cSeq -= 1
        #expect(try phone.register("Contact: <sip:a@192.0.2.5>;expires=0", at: &registrar).status == 500)
        phone.cSeq -= 1
        #expect(try phone.register("Contact: *", "Expires: 0", at: &registrar).status == 500)
        #expect(users(registrar).count == 1)
        // Another Call-ID (the phone restarted) counts anew.
        var again = RegisteringDevice(callID: "d2", seed: 9)
        #expect(try again.register("Contact: <sip:a@192.0.2.5>", at: &registrar).status == 200)
        #expect(users(registrar).count == 1)
    }

    @Test func aFlowOfAnInstanceIsOneBinding() throws {
        var registrar = Self.registrar()
        var phone = RegisteringDevice()
        phone.source = Hop(transport: .tcp, address: SocketAddress("203.0.113.5:40000")!, connection: 7)
        let contact = "Contact: <sip:anna@10.0.0.5;transport=tcp>;reg-id=1;+sip.instance=\"<urn:uuid:1>\""
        let answer = try phone.register(contact, "Supported: path, outbound", at: &registrar)
        #expect(answer.text.contains("Require: outbound\r\n"))
        #expect(answer.text.contains(";+sip.instance=\"<urn:uuid:1>\";reg-id=1"))
        // The same flow from another address takes its place; a second flow stands beside it.
        phone.source.connection = 8
        _ = try phone.register(contact.replacing("10.0.0.5", with: "10.0.0.6"), "Supported: outbound", at: &registrar)
        #expect(users(registrar) == ["sip:anna@10.0.0.6;transport=tcp"])
        _ = try phone.register(contact.replacing("reg-id=1", with: "reg-id=2"), "Supported: outbound", at: &registrar)
        #expect(users(registrar).count == 2)
        #expect(registrar.contacts(of: "anna", at: .zero)[0].nextHop == phone.source)
        // Without its connection a flow is gone.
        #expect(registrar.flowEnded(Hop(transport: .tcp, address: phone.source.address, connection: 9)).isEmpty)
        #expect(registrar.flowEnded(phone.source).count == 2)
        #expect(users(registrar).isEmpty)
        // Over a proxy that keeps no flow there is none.
        #expect(try !phone.register(contact, "Supported: outbound", at: &registrar, vias: 2).text.contains("Require"))
    }

    // RFC 5627: the name of a device that does not change with its address.
    @Test func aDeviceThatAsksGetsAGRUU() throws {
        var registrar = Self.registrar()
        var phone = RegisteringDevice()
        let contact = "Contact: <sip:anna@192.0.2.5>;+sip.instance=\"<urn:uuid:f81d4fae>\""
        #expect(try !phone.register(contact, "Supported: path", at: &registrar).text.contains("gruu=\""))
        let answer = try phone.register(contact, "Supported: path, gruu", at: &registrar)
        #expect(answer.text.contains(";pub-gruu=\"sip:anna@example.com;gr=urn:uuid:f81d4fae\""))
        let odd = try phone.register(contact.replacing("f81d4fae", with: "a;b"), "Supported: gruu", at: &registrar)
        #expect(odd.status == 200 && !odd.text.contains("gr=urn:uuid:a"))
        #expect(
            try !phone.register("Contact: <sip:anna@192.0.2.9>", "Supported: gruu", at: &registrar).text.contains(
                "192.0.2.9>;expires=3600;pub"))
    }

    @Test func theWayBackOverProxies() throws {
        var registrar = Self.registrar()
        var phone = RegisteringDevice()
        phone.source = Hop(transport: .udp, address: SocketAddress("192.0.2.80:5060")!, connection: 1)
        let answer = try phone.register(
            "Contact: <sip:anna@10.0.0.5>", "Path: <sip:192.0.2.80;lr>, <sip:edge.example.com;lr>", "Supported: path",
            "Require: path",
            at: &registrar, vias: 2)
        #expect(answer.status == 200)
        #expect(answer.text.contains("Path: <sip:192.0.2.80;lr>\r\nPath: <sip:edge.example.com;lr>\r\n"))
        let binding = try #require(registrar.contacts(of: "anna", at: .zero).first)
        #expect(binding.routes.map { String(decoding: $0, as: UTF8.self) } == ["<sip:192.0.2.80;lr>,<sip:edge.example.com;lr>"])
        #expect(binding.nextHop == phone.source)
        #expect(try phone.register("Contact: <sip:a@10.0.0.5>", "Require: sec-agree", at: &registrar).status == 420)
    }

    /// Where a device is reached that is reached directly: by its contact's address, or by where it was seen.
    @Test(arguments: [
        ("sip:a@192.0.2.5:5070", "192.0.2.5:5070"), ("sip:a@192.0.2.5", "192.0.2.5:5060"),
        ("sip:a@10.0.0.5:5070", "192.0.2.5:4000"),
        ("sip:a@phone.local", "192.0.2.5:4000")
    ])
    func directly(contact: String, address: String) throws {
        var registrar = Self.registrar()
        var phone = RegisteringDevice()
        phone.source.address.port = 4000
        _ = try phone.register("Contact: <\(contact)>", at: &registrar)
        #expect(registrar.contacts(of: "anna", at: .zero).first?.nextHop.address == SocketAddress(address))
    }

    @Test func whoMayNot() throws {
        var registrar = Self.registrar()
        var wrong = RegisteringDevice(password: "falsch")
        let refused = try wrong.register("Contact: <sip:a@192.0.2.5>", at: &registrar)
        var unknown = RegisteringDevice(user: "eve")
        let unknownRefused = try unknown.register("Contact: <sip:a@192.0.2.5>", at: &registrar)
        // Nothing tells whether the user exists.
        #expect(refused.status == 403 && unknownRefused.status == 403)
        #expect(refused.rows == unknownRefused.rows && refused.reason == unknownRefused.reason)
        // Nobody registers for somebody else.
        var hall = RegisteringDevice(user: "hall", password: "flur")
        #expect(try hall.register("Contact: <sip:a@192.0.2.5>", at: &registrar, to: "anna").status == 403)
        #expect(registrar.table.count == 0)
    }

    @Test(arguments: [
        "Contact: <mailto:a@b>", "Contact: <tel:+1>", "Contact: <sip:>", "Path: <x",
        "Contact: <sip:a@\(String(repeating: "x", count: 600))>"
    ])
    func whatCannotBeKept(row: String) throws {
        var registrar = Self.registrar()
        var phone = RegisteringDevice()
        #expect(
            try phone.register(row, row.hasPrefix("Path") ? "Contact: <sip:a@192.0.2.5>" : "X: y", at: &registrar).status == 400)
        #expect(registrar.table.count == 0)
    }

    @Test func expiredOnesAreSweptWithinAMinute() throws {
        var registrar = Self.registrar()
        var phone = RegisteringDevice()
        _ = try phone.register("Contact: <sip:a@192.0.2.5>;expires=60", at: &registrar)
        var changes: [BindingChange] = []
        for second in 0..<125 { changes += registrar.sweep(at: .zero + .seconds(second)) }
        #expect(changes == [.expired(user: "anna", contact: Array("sip:a@192.0.2.5".utf8))])
        #expect(registrar.table.count == 0)
    }

    @Test func overARestartByTheFile() throws {
        var registrar = Self.registrar()
        var phone = RegisteringDevice(callID: "with\ttab%")
        _ = try phone.register(
            "Contact: <sip:anna%20b@192.0.2.5;x=1>;q=0.3;expires=600", "Path: <sip:192.0.2.80;lr>, \"A B\" <sip:c;lr>",
            at: &registrar)
        _ = try phone.register("Contact: <sip:b@192.0.2.5>;expires=60", at: &registrar)
        let file = BindingFile.text(
            of: registrar.table, key: registrar.gruuKey, at: .zero + .seconds(10), wall: 1_000_010)
        let text = String(decoding: file, as: UTF8.self)
        #expect(text.hasPrefix("ringwright-bindings 1 \(String(decoding: registrar.gruuKey, as: UTF8.self))\n"))
        #expect(text.contains("anna\tsip:anna%2520b@192.0.2.5;x=1\t1000600\t300\twith%09tab%25\t"))
        // A hundred seconds later, in another process, whose clock begins anew.
        let (table, key, unreadable) = try #require(BindingFile.read(file, at: .zero, wall: 1_000_110, longest: 3600))
        #expect(unreadable == 0)
        var again = Self.registrar()
        again.take(table, key: key)
        let binding = try #require(again.contacts(of: "anna", at: .zero).first)
        #expect(again.table.count == 1)
        var expected = registrar.contacts(of: "anna", at: .zero).first { $0.q == 300 }!
        expected.expires = .zero + .seconds(490)
        expected.source.connection = 0
        #expect(binding == expected)
        // Users that are gone are not taken, broken lines neither, other files not at all.
        var others = Self.registrar { $0.users = [:] }
        others.take(table, key: key)
        #expect(others.table.count == 0)
        #expect(
            BindingFile.read(Array("\(text)anna\tnonsense\n\n".utf8), at: .zero, wall: 1_000_110, longest: 3600)?.unreadable == 1)
        for other in ["other 1\n", "ringwright-bindings 1\n", "ringwright-bindings 1 abc\n"] {
            #expect(BindingFile.read(Array(other.utf8), at: .zero, wall: 0, longest: 3600) == nil)
        }
    }
}
