// Finding servers: which questions are asked for which target, in which order servers are tried, and who is tried last.

import Basics
import SIP
import Testing

@Suite struct ServerSearchTests {
    typealias Zone = [NameQuery: NameRecords]

    static func ip(_ text: String) -> IPAddress { IPAddress(text)! }

    /// The questions that were asked, and what was found, with the given order by chance.
    func find(
        _ target: ServerTarget, _ zone: Zone, supported: [Transport] = [.udp, .tcp], seed: UInt64 = 1
    ) -> (questions: [NameQuery], hops: [String]) {
        var search = ServerSearch(target, supported: supported)
        var questions: [NameQuery] = []
        while let query = search.next {
            questions.append(query)
            search.answer(zone[query] ?? NameRecords())
        }
        var random = SeededRandom(seed: seed)
        return (questions, search.result!.hops(using: &random).map { "\($0.transport) \($0.address)" })
    }

    static let zone: Zone = [
        .naptr("example.com"): NameRecords(naptr: [
            NAPTRRecord(order: 20, preference: 1, flags: "s", service: "SIP+D2U", replacement: "_sip._udp.example.com"),
            NAPTRRecord(order: 10, preference: 5, flags: "S", service: "sip+d2t", replacement: "_sip._tcp.example.com"),
            NAPTRRecord(order: 5, preference: 1, flags: "s", service: "SIPS+D2T", replacement: "_sips._tcp.example.com"),
            NAPTRRecord(order: 1, preference: 1, flags: "u", service: "E2U+sip", replacement: "")
        ]),
        .srv("_sip._tcp.example.com"): NameRecords(srv: [
            SRVRecord(priority: 20, weight: 0, port: 5080, target: "b.example.com"),
            SRVRecord(priority: 10, weight: 0, port: 5070, target: "a.example.com")
        ]),
        .srv("_sip._udp.example.com"): NameRecords(srv: [SRVRecord(priority: 1, weight: 0, port: 5060, target: "a.example.com")]),
        .addresses("a.example.com"): NameRecords(addresses: [ip("192.0.2.1"), ip("2001:db8::1")]),
        .addresses("b.example.com"): NameRecords(addresses: [ip("192.0.2.2")]),
        .addresses("plain.example.com"): NameRecords(addresses: [ip("192.0.2.3"), ip("192.0.2.4")])
    ]

    @Test func theWholeWay() {
        let (questions, hops) = find(ServerTarget(host: "example.com"), Self.zone)
        #expect(
            questions == [
                .naptr("example.com"), .srv("_sip._tcp.example.com"), .srv("_sip._udp.example.com"), .addresses("b.example.com"),
                .addresses("a.example.com")
            ])
        #expect(
            hops == [
                "tcp 192.0.2.1:5070", "tcp [2001:db8::1]:5070", "tcp 192.0.2.2:5080", "udp 192.0.2.1:5060",
                "udp [2001:db8::1]:5060"
            ])
    }

    @Test func aTransportThatIsGiven() {
        let (questions, hops) = find(ServerTarget(host: "example.com", transport: .udp), Self.zone)
        #expect(questions == [.srv("_sip._udp.example.com"), .addresses("a.example.com")])
        #expect(hops == ["udp 192.0.2.1:5060", "udp [2001:db8::1]:5060"])
    }

    @Test func aPortThatIsGiven() {
        let (questions, hops) = find(ServerTarget(host: "plain.example.com", port: 5099), Self.zone)
        #expect(questions == [.addresses("plain.example.com")])
        #expect(hops == ["udp 192.0.2.3:5099", "udp 192.0.2.4:5099"])
        #expect(
            find(ServerTarget(host: "plain.example.com", port: 5099, transport: .tcp), Self.zone).hops.first
                == "tcp 192.0.2.3:5099")
    }

    @Test(arguments: [("192.0.2.9", "udp 192.0.2.9:5060"), ("[2001:db8::9]", "udp [2001:db8::9]:5060")])
    func anAddress(host: String, hop: String) {
        let (questions, hops) = find(ServerTarget(host: host), Self.zone)
        #expect(questions.isEmpty && hops == [hop])
    }

    @Test func withoutNAPTRAndSRVTheAddresses() {
        let (questions, hops) = find(ServerTarget(host: "plain.example.com"), Self.zone)
        #expect(
            questions == [
                .naptr("plain.example.com"), .srv("_sip._udp.plain.example.com"), .srv("_sip._tcp.plain.example.com"),
                .addresses("plain.example.com")
            ])
        #expect(hops == ["udp 192.0.2.3:5060", "udp 192.0.2.4:5060"])
        #expect(find(ServerTarget(host: "plain.example.com", transport: .tls), Self.zone).hops.first == "tls 192.0.2.3:5061")
        #expect(find(ServerTarget(host: "nowhere.example.com"), Self.zone).hops.isEmpty)
    }

    @Test func withoutNAPTRTheServicesThatThereAre() {
        var zone = Self.zone
        zone[.naptr("example.com")] = nil
        #expect(find(ServerTarget(host: "example.com"), zone).hops.first == "udp 192.0.2.1:5060")
        #expect(find(ServerTarget(host: "example.com"), zone, supported: [.tcp]).hops.first == "tcp 192.0.2.1:5070")
    }

    @Test func aServiceThatIsDenied() {
        let zone: Zone = [
            .srv("_sip._udp.example.com"): NameRecords(srv: [SRVRecord(priority: 0, weight: 0, port: 0, target: ".")]),
            .addresses("example.com"): NameRecords(addresses: [Self.ip("192.0.2.1")])
        ]
        #expect(find(ServerTarget(host: "example.com", transport: .udp), zone).hops.isEmpty)
    }

    /// Of three servers with the weights 10, 30 and 60 the first is chosen as often as that says; all three are in the list.
    @Test func weights() {
        let zone: Zone = [
            .srv("_sip._udp.w.example"): NameRecords(
                srv: [(10, "a"), (60, "c"), (30, "b"), (0, "z")].map {
                    SRVRecord(priority: 1, weight: $0.0, port: 5060, target: $0.1)
                }),
            .addresses("a"): NameRecords(addresses: [Self.ip("192.0.2.1")]),
            .addresses("b"): NameRecords(addresses: [Self.ip("192.0.2.2")]),
            .addresses("c"): NameRecords(addresses: [Self.ip("192.0.2.3")]),
            .addresses("z"): NameRecords(addresses: [Self.ip("192.0.2.4")])
        ]
        var firsts: [String: Int] = [:]
        for seed in 1...4000 {
            let hops = find(ServerTarget(host: "w.example", transport: .udp), zone, seed: UInt64(seed)).hops
            #expect(Set(hops).count == 4)
            firsts[hops[0], default: 0] += 1
        }
        #expect((300...500).contains(firsts["udp 192.0.2.1:5060"] ?? 0))
        #expect((1080...1320).contains(firsts["udp 192.0.2.2:5060"] ?? 0))
        #expect((2250...2550).contains(firsts["udp 192.0.2.3:5060"] ?? 0))
        #expect((1...150).contains(firsts["udp 192.0.2.4:5060"] ?? 0))
    }

    @Test func thePenaltyBox() {
        var box = PenaltyBox()
        let hops = ["192.0.2.1:5060", "192.0.2.2:5060"].map { Hop(transport: .udp, address: SocketAddress($0)!) }
        #expect(box.ordered(hops, at: .zero) == hops)
        box.failed(hops[0], at: .zero)
        // A failure that many calls see counts once.
        for _ in 0..<50 { box.failed(hops[0], at: .zero + .seconds(1)) }
        #expect(box.ordered(hops, at: .zero + .seconds(29)) == [hops[1], hops[0]])
        #expect(box.ordered(hops, at: .zero + .seconds(31)) == hops)
        // The next time it is out for longer, at most for ten minutes.
        box.failed(hops[0], at: .zero + .seconds(40))
        #expect(box.isPunished(hops[0], at: .zero + .seconds(99)) && !box.isPunished(hops[0], at: .zero + .seconds(100)))
        var now = Instant.zero + .seconds(100)
        for _ in 0..<20 {
            box.failed(hops[0], at: now)
            now = now + .seconds(601)
        }
        #expect(!box.isPunished(hops[0], at: now))
        box.failed(hops[1], at: now, retryAfter: 900)
        #expect(box.isPunished(hops[1], at: now + .seconds(899)) && !box.isPunished(hops[1], at: now + .seconds(900)))
        // Both are out: they are tried all the same.
        box.failed(hops[0], at: now)
        #expect(box.ordered(hops, at: now).count == 2)
        for hop in hops { box.worked(hop) }
        #expect(box.isEmpty)
    }
}
