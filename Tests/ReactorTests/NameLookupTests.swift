// The DNS by c-ares, against a server of our own.

import Basics
import Reactor
import Testing

@Suite struct NameLookupTests {
    static let zone: TinyDNSServer.Zone = [
        .naptr("example.test"): NameRecords(naptr: [
            NAPTRRecord(order: 10, preference: 50, flags: "s", service: "SIP+D2U", replacement: "_sip._udp.example.test")
        ]),
        .srv("_sip._udp.example.test"): NameRecords(srv: [
            SRVRecord(priority: 1, weight: 70, port: 5080, target: "a.example.test"),
            SRVRecord(priority: 2, weight: 0, port: 5090, target: "b.example.test")
        ]),
        .srv("_sip._tcp.example.test"): NameRecords(srv: [SRVRecord(priority: 0, weight: 0, port: 0, target: ".")]),
        .addresses("a.example.test"): NameRecords(addresses: [IPAddress("192.0.2.1")!, IPAddress("2001:db8::1")!], lifetime: 90),
        .addresses("b.example.test"): NameRecords(addresses: [IPAddress("192.0.2.2")!], lifetime: 1)
    ]

    @Test func everyKindOfRecord() throws {
        let server = try TinyDNSServer(Self.zone)
        defer { server.stop() }
        let names = NameLookup.dns(servers: "\(server.address)")
        #expect(names.records(.naptr("example.test"))?.naptr == Self.zone[.naptr("example.test")]?.naptr)
        let found = try #require(names.records(.srv("_sip._udp.example.test"))).srv
        #expect(found.sorted { $0.priority < $1.priority } == Self.zone[.srv("_sip._udp.example.test")]?.srv)
        #expect(names.records(.srv("_sip._tcp.example.test"))?.srv.map(\.target) == ["."])
        let a = try #require(names.records(.addresses("a.example.test")))
        #expect(a.addresses == [IPAddress("192.0.2.1")!, IPAddress("2001:db8::1")!] && a.lifetime == 90)
        // A lifetime of a second would ask for each call.
        #expect(names.records(.addresses("b.example.test"))?.lifetime == 5)
    }

    @Test func whatIsNotThere() throws {
        let server = try TinyDNSServer(Self.zone)
        defer { server.stop() }
        let names = NameLookup.dns(servers: "\(server.address)")
        #expect(names.records(.naptr("a.example.test")) == NameRecords())
        #expect(names.records(.srv("_sip._udp.nowhere.test")) == NameRecords())
        #expect(names.records(.addresses("nowhere.test"))?.addresses.isEmpty == true)
        #expect(
            names.records(.addresses("not a name")) == nil || names.records(.addresses("not a name"))?.addresses.isEmpty == true)
    }

    @Test func thisMachine() {
        #expect(NameLookup.dns().records(.addresses("localhost"))?.addresses.contains(.loopback4) == true)
    }
}
