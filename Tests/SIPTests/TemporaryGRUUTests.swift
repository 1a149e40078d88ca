// Temporary GRUUs of the registrar (RFC 5627): what they tell, how long they hold, what ends them.

import Basics
import SIP
import Testing

@Suite struct TemporaryGRUUTests {
    private let contact = "Contact: <sip:anna@192.0.2.5>;+sip.instance=\"<urn:uuid:f81d4fae>\""

    /// The user parts of temp-gruu in an answer.
    private func names(_ answer: Registrar.Answer) -> [String] {
        answer.text.matches(of: /;temp-gruu="sip:([^@]+)@example\.com;gr"/).map { String($0.1) }
    }

    private func register(
        _ phone: inout RegisteringDevice, _ registrar: inout Registrar, _ contact: String? = nil, now: Instant = .zero
    ) throws -> String {
        let answer = try phone.register(
            contact ?? self.contact, "Supported: gruu, outbound, path", at: &registrar, now: now)
        return try #require(names(answer).last, "\(answer.text)")
    }

    @Test func eachAnswerHasANewOneAndAllHold() throws {
        var registrar = RegistrarTests.registrar()
        var phone = RegisteringDevice()
        var seen: Set<String> = []
        for minute in 0..<100 {
            let now = Instant.zero + .seconds(minute * 60)
            let name = try register(&phone, &registrar, now: now)
            #expect(seen.insert(name).inserted)
            // It says nothing of whom it names, and looks like no other one.
            #expect(TemporaryGRUUs.isName(name) && !name.contains("anna") && !name.contains("f81d4fae"))
            #expect(Set(seen.map { $0.prefix(14) }).count == seen.count && Set(seen.map { $0.suffix(8) }).count == seen.count)
            for one in seen {
                let device = registrar.device(named: one, at: now)
                #expect(device?.user == "anna" && device?.gr == Array("urn:uuid:f81d4fae".utf8))
            }
        }
        // The public one is the same all the time, and who does not ask gets none.
        #expect(try names(phone.register(contact, "Supported: path", at: &registrar, now: .zero + .seconds(6000))) == [])
    }

    @Test func anotherCallIDEndsThemAll() throws {
        var registrar = RegistrarTests.registrar()
        var phone = RegisteringDevice()
        let old = try [register(&phone, &registrar), register(&phone, &registrar)]
        phone.callID = "after-the-restart"
        let new = try register(&phone, &registrar)
        for name in old { #expect(registrar.device(named: name, at: .zero) == nil) }
        #expect(registrar.device(named: new, at: .zero)?.user == "anna")
        // Also where it comes from another address then, and the old binding still stands; its refreshes change nothing more.
        phone.callID = "once-more"
        let moved = contact.replacing("192.0.2.5", with: "192.0.2.6")
        let first = try register(&phone, &registrar, moved)
        #expect(registrar.device(named: new, at: .zero) == nil)
        _ = try register(&phone, &registrar, moved)
        #expect(registrar.device(named: first, at: .zero) != nil)
        #expect(registrar.contacts(of: "anna", at: .zero).count == 2)
    }

    @Test func theEndOfTheBindingEndsThem() throws {
        var registrar = RegistrarTests.registrar()
        var phone = RegisteringDevice()
        let timed = try register(&phone, &registrar, contact + ";expires=60")
        #expect(registrar.device(named: timed, at: .zero + .seconds(59)) != nil)
        #expect(registrar.device(named: timed, at: .zero + .seconds(60)) == nil)
        let back = try register(&phone, &registrar, now: .zero + .seconds(100))
        #expect(registrar.device(named: timed, at: .zero + .seconds(100)) == nil, "it is another registration")
        _ = try phone.register("Contact: *", "Expires: 0", at: &registrar, now: .zero + .seconds(101))
        #expect(registrar.device(named: back, at: .zero + .seconds(101)) == nil)
    }

    @Test func flowsOfADeviceShareThem() throws {
        var registrar = RegistrarTests.registrar()
        var (first, second) = (RegisteringDevice(callID: "one"), RegisteringDevice(callID: "two"))
        first.source = Hop(transport: .tcp, address: SocketAddress("192.0.2.5:4001")!, connection: 1)
        second.source = Hop(transport: .tcp, address: SocketAddress("192.0.2.5:4002")!, connection: 2)
        let one = try register(&first, &registrar, contact + ";reg-id=1")
        let two = try register(&second, &registrar, contact + ";reg-id=2")
        _ = registrar.flowEnded(first.source)
        for name in [one, two] { #expect(registrar.device(named: name, at: .zero)?.user == "anna") }
        _ = registrar.flowEnded(second.source)
        for name in [one, two] { #expect(registrar.device(named: name, at: .zero) == nil) }
    }

    @Test func devicesAndUsersAreToldApart() throws {
        var registrar = RegistrarTests.registrar()
        var (desk, cell) = (RegisteringDevice(callID: "a"), RegisteringDevice(callID: "b"))
        var hall = RegisteringDevice(user: "hall", password: "flur", callID: "c")
        let names = try [
            register(&desk, &registrar),
            register(&cell, &registrar, contact.replacing("192.0.2.5", with: "192.0.2.6").replacing("f81d", with: "0001")),
            register(&hall, &registrar, "Contact: <sip:hall@192.0.2.7>;+sip.instance=\"<urn:uuid:f81d4fae>\"")
        ]
        let found = names.map {
            registrar.device(named: $0, at: .zero).map { "\($0.user) \(String(decoding: $0.gr, as: UTF8.self))" }
        }
        #expect(found == ["anna urn:uuid:f81d4fae", "anna urn:uuid:00014fae", "hall urn:uuid:f81d4fae"])
    }

    @Test func whatIsMadeUpNamesNobody() throws {
        var registrar = RegistrarTests.registrar()
        var phone = RegisteringDevice()
        let name = try register(&phone, &registrar)
        for place in name.indices where name[place] != "." {
            var other = name
            other.replaceSubrange(place...place, with: name[place] == "0" ? "1" : "0")
            #expect(registrar.device(named: other, at: .zero) == nil)
        }
        for other in ["", "tgruu.", "anna", String(name.dropLast()), name + "0", name.replacing("tgruu.", with: "TGRUU.")] {
            #expect(registrar.device(named: other, at: .zero) == nil)
        }
        #expect(registrar.device(named: "tgruu." + String(repeating: "ä", count: 16), at: .zero) == nil)
    }

    @Test func theyHoldOverARestart() throws {
        var registrar = RegistrarTests.registrar()
        var phone = RegisteringDevice()
        let before = try register(&phone, &registrar)
        let file = BindingFile.text(of: registrar.table, key: registrar.gruuKey, at: .zero, wall: 1_000_000)
        let (table, key, _) = try #require(BindingFile.read(file, at: .zero, wall: 1_000_000, longest: 3600))
        var again = Registrar(registrar.settings, secret: Array("another process".utf8))
        again.take(table, key: key)
        #expect(again.device(named: before, at: .zero)?.user == "anna")
        var other = phone
        let after = try register(&other, &again)
        #expect(again.device(named: after, at: .zero) != nil && again.device(named: before, at: .zero) != nil)
        // A process without the file knows none of them.
        let stranger = Registrar(registrar.settings, secret: Array("another process".utf8))
        #expect(stranger.device(named: before, at: .zero) == nil)
    }
}
