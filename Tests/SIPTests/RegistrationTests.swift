// The registration machine alone: what it sends, what it makes of answers, when it comes again.

import Basics
import SIP
import Testing

@Suite struct RegistrationTests {
    /// The machine with its clock, and the requests that it made.
    struct Bench {
        var machine: Registration
        var now = Instant.zero
        var actions: [RegistrationAction] = []
        var requests: [Message] = []
        let end = LocalEnd(transport: .udp, address: SocketAddress(ip: IPAddress("192.0.2.1")!, port: 5060))
            .marked(user: "bot", parameter: "line", value: "m1")

        init(seed: UInt64 = 1, password: String? = "geheim", instance: String = "urn:uuid:i-1") {
            machine = Registration(
                RegistrationSettings(
                    registrar: Array("sip:pbx.example.com".utf8), addressOfRecord: Array("sip:bot@pbx.example.com".utf8),
                    credentials: password.map { Credentials(user: "bot", password: $0) }, instance: instance,
                    callID: Array("c1".utf8)),
                seed: seed)
        }

        /// Carries out what the machine asks for: each REGISTER is made and kept.
        private mutating func settle(from first: Int) throws {
            for action in actions[first...] {
                guard case .register = action else { continue }
                let request = machine.request(end: end, branch: Array("z9hG4bK\(requests.count)".utf8))
                requests.append(try Message(parsing: request.octets))
            }
        }

        mutating func start() throws {
            machine.start(at: now)
            try fire()
        }

        mutating func fire() throws {
            let first = actions.count
            machine.fire(at: now, into: &actions)
            try settle(from: first)
        }

        /// Goes to the next deadline.
        mutating func wake() throws {
            now = machine.nextDeadline
            try fire()
        }

        /// Answers the latest request.
        mutating func answer(_ status: Int, _ rows: String...) throws {
            var writer = MessageWriter()
            writer.response(
                status, to: requests.last!, tag: Array("t".utf8)[...],
                source: SocketAddress(ip: IPAddress("203.0.113.9")!, port: 4444))
            for row in rows { writer.append(Array("\(row)\r\n".utf8)) }
            writer.finish()
            let first = actions.count
            machine.received(try Message(parsing: writer.octets), at: now, into: &actions)
            try settle(from: first)
        }

        mutating func fail(_ failure: RegistrationFailure) throws {
            let first = actions.count
            machine.failed(failure, at: now, into: &actions)
            try settle(from: first)
        }

        mutating func stop() throws {
            let first = actions.count
            machine.stop(at: now, into: &actions)
            try settle(from: first)
        }

        /// The pause that the latest failure announced.
        var pause: Duration? {
            if case .failed(_, let pause)? = actions.last { pause } else { nil }
        }
    }

    static let ours = "Contact: <sip:bot@192.0.2.1:5060;line=m1>"

    @Test func theRequest() throws {
        var bench = Bench()
        try bench.start()
        let request = try #require(bench.requests.first)
        try request.check()
        #expect(request.method == .register)
        #expect(try request.requestURI().description == "sip:pbx.example.com")
        #expect(try request.to().uri().description == "sip:bot@pbx.example.com")
        #expect(try request.to().tag == nil)
        #expect(
            request.header("Contact")
                == "<sip:bot@192.0.2.1:5060;line=m1>;expires=3600;reg-id=1;+sip.instance=\"<urn:uuid:i-1>\"")
        #expect(request.header("Expires") == "3600")
        #expect(request.header("Supported") == "path, outbound, gruu")
        #expect(request.headers("Contact").count == 1)
    }

    /// The answer's own seconds count: the parameter of our contact, else Expires, else what was asked for.
    @Test(arguments: [
        (["\(ours);expires=600"], 600), (["\(ours);expires=600", "Expires: 50"], 600), ([ours, "Expires: 90"], 90),
        ([ours], 3600),
        (["Contact: <sip:x@192.0.2.9>;expires=10, <sip:bot@192.0.2.1:5060;line=m1>;expires=120"], 120),
        (["Contact: <sip:bot@203.0.113.9:4444>;expires=70"], 70), (["Expires: 45"], 45),
        (["Contact: <sip:a@203.0.113.9:1>;expires=3;+sip.instance=\"<urn:uuid:i-1>\", <sip:b@192.0.2.1>;expires=9"], 3)
    ])
    func refreshedBeforeTheExpiryOfTheAnswer(rows: [String], seconds: Int) throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(200, rows.joined(separator: "\r\n"))
        guard case .registered(seconds, isNew: true)? = bench.actions.last else {
            Issue.record("\(bench.actions)")
            return
        }
        let due = bench.machine.nextDeadline - bench.now
        #expect(due >= .milliseconds(seconds * 700) && due <= .milliseconds(seconds * 900))
        try bench.wake()
        #expect(bench.requests.count == 2)
        #expect(bench.requests[1].cSeq == bench.requests[0].cSeq + 1)
        #expect(bench.requests[1].callID == bench.requests[0].callID)
        try bench.answer(200, rows.joined(separator: "\r\n"))
        guard case .registered(_, isNew: false)? = bench.actions.last else {
            Issue.record("a refresh is no new registration")
            return
        }
    }

    @Test func challengesOfProxyAndServerAtOnce() throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(
            407, "Proxy-Authenticate: Digest realm=\"edge\", nonce=\"n1\", qop=\"auth\"",
            "WWW-Authenticate: Digest realm=\"pbx\", nonce=\"n2\", algorithm=SHA-256, qop=\"auth\"",
            "WWW-Authenticate: Digest realm=\"pbx\", nonce=\"n3\", algorithm=MD5, qop=\"auth\"")
        let second = try #require(bench.requests.last)
        #expect(second.headers("Proxy-Authorization").count == 1)
        #expect(second.headers("Authorization").count == 1)
        #expect(second.header("Authorization")?.contains("algorithm=SHA-256") == true)
        try bench.answer(200, Self.ours)
        // The refresh brings the credentials by itself, counted.
        try bench.wake()
        #expect(bench.requests.last?.header("Authorization")?.contains("nc=00000002") == true)
        // A new nonce for an old one is no refusal.
        try bench.answer(401, "WWW-Authenticate: Digest realm=\"pbx\", nonce=\"n4\", stale=true, algorithm=SHA-256, qop=\"auth\"")
        #expect(bench.requests.last?.header("Authorization")?.contains("nonce=\"n4\"") == true)
        try bench.answer(200, Self.ours)
        #expect(bench.machine.state == .kept)
    }

    @Test func aWrongPasswordIsTriedOnceAndThenSeldom() throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(401, "WWW-Authenticate: Digest realm=\"pbx\", nonce=\"n1\", qop=\"auth\"")
        try bench.answer(401, "WWW-Authenticate: Digest realm=\"pbx\", nonce=\"n2\", qop=\"auth\"")
        #expect(bench.requests.count == 2)
        guard case .failed(.credentials, let pause)? = bench.actions.last else {
            Issue.record("\(bench.actions)")
            return
        }
        #expect(pause >= .seconds(150))
        var nobody = Bench(password: nil)
        try nobody.start()
        try nobody.answer(401, "WWW-Authenticate: Digest realm=\"pbx\", nonce=\"n1\", qop=\"auth\"")
        #expect(nobody.requests.count == 1)
    }

    @Test func aServerThatChallengesForEverIsLeft() throws {
        var bench = Bench()
        try bench.start()
        for number in 0..<20 where bench.machine.state == .asking {
            try bench.answer(401, "WWW-Authenticate: Digest realm=\"pbx\", nonce=\"n\(number)\", stale=true, qop=\"auth\"")
        }
        #expect(bench.requests.count == 5)
        #expect(bench.machine.state == .waiting)
    }

    @Test func tooBriefAnInterval() throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(423, "Min-Expires: 7200")
        #expect(bench.requests.last?.header("Expires") == "7200")
        try bench.answer(200, Self.ours)
        guard case .registered(7200, _)? = bench.actions.last else {
            Issue.record("\(bench.actions)")
            return
        }
        // A registrar that says so without asking for more, or asks for the absurd, only fails.
        for demand in ["Min-Expires: 60", "Min-Expires: 4294967295", "X: y"] {
            var other = Bench()
            try other.start()
            try other.answer(423, demand)
            #expect(other.machine.state == .waiting)
        }
    }

    @Test func aFirstHopWithoutFlows() throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(439)
        #expect(bench.requests.last?.header("Contact")?.contains("reg-id") == false)
        #expect(bench.requests.last?.header("Supported") == "path, gruu")
        try bench.answer(439)
        #expect(bench.machine.state == .waiting)
    }

    @Test func pausesGrowAndDiffer() throws {
        var firsts: Set<Duration> = []
        for seed in 1...20 {
            var bench = Bench(seed: UInt64(seed))
            try bench.start()
            var upper = Duration.seconds(30)
            for _ in 0..<10 {
                try bench.fail(.noAnswer)
                let pause = try #require(bench.pause)
                #expect(pause >= upper / 2 && pause <= upper)
                if upper == .seconds(30) { firsts.insert(pause) }
                upper = min(upper * 2, .seconds(1800))
                try bench.wake()
            }
            try bench.answer(200, Self.ours)
            #expect(bench.machine.failures == 0)
        }
        #expect(firsts.count > 15)
    }

    /// RFC 5626 section 4.5: 90 seconds instead of 30 where another flow works, each half by chance.
    @Test(arguments: [(false, 30), (true, 90)]) func aFlowBesideOthersHasTime(hasOther: Bool, first: Int) throws {
        var bench = Bench()
        bench.machine.hasOtherFlow = hasOther
        try bench.start()
        for failures in 0..<8 {
            let asked = bench.now
            try bench.fail(.unreachable)
            let upper = Duration.seconds(min(first << failures, 1800))
            let pause = bench.machine.nextDeadline - asked
            #expect(pause >= upper / 2 && pause <= upper, "\(failures): \(pause)")
            try bench.wake()
        }
    }

    @Test func retryAfterIsKept() throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(503, "Retry-After: 900")
        let pause = try #require(bench.pause)
        #expect(pause >= .seconds(900) && pause <= .seconds(990))
    }

    @Test func aBindingOutlivesAFailedRefreshUntilItsEnd() throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(200, "\(Self.ours);expires=100")
        try bench.wake()
        try bench.fail(.noAnswer)
        #expect(bench.machine.isBound(at: bench.now))
        var expired = 0
        for _ in 0..<6 {
            try bench.wake()
            if bench.machine.state == .asking { try bench.fail(.noAnswer) }
        }
        for action in bench.actions { if case .expired = action { expired += 1 } }
        #expect(expired == 1)
        #expect(!bench.machine.isBound(at: bench.now))
    }

    @Test func theNameThatTheRegistrarGivesTheDevice() throws {
        var bench = Bench()
        try bench.start()
        let ours = Self.ours + ";+sip.instance=\"<urn:uuid:i-1>\""
        try bench.answer(
            200, ours + ";pub-gruu=\"sip:bot@example.com;gr=urn:uuid:1\";temp-gruu=\"sip:tgruu.1@example.com;gr\";expires=100")
        #expect(bench.machine.gruu.map { String(decoding: $0, as: UTF8.self) } == "sip:bot@example.com;gr=urn:uuid:1")
        #expect(bench.machine.temporaryGRUU.map { String(decoding: $0, as: UTF8.self) } == "sip:tgruu.1@example.com;gr")
        // The next answer has another one, and the end of the binding ends them.
        try bench.wake()
        try bench.answer(200, ours + ";temp-gruu=\"sip:tgruu.2@example.com;gr\";expires=100")
        #expect(bench.machine.temporaryGRUU.map { String(decoding: $0, as: UTF8.self) } == "sip:tgruu.2@example.com;gr")
        #expect(bench.machine.gruu == nil)
        try bench.wake()
        while bench.machine.isBound(at: bench.now) {
            try bench.fail(.noAnswer)
            repeat { try bench.wake() } while bench.machine.state != .asking
        }
        #expect(bench.machine.temporaryGRUU == nil)
        var other = Bench()
        try other.start()
        try other.answer(200, ours + ";pub-gruu=\"<nothing\";temp-gruu=\"tel:1\"")
        #expect(other.machine.gruu == nil && other.machine.temporaryGRUU == nil && other.machine.state == .kept)
    }

    @Test func theWayThatTheRegistrarNames() throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(200, Self.ours, "Service-Route: <sip:edge.example.com;lr>, <sip:core.example.com;lr>", "Flow-Timer: 120")
        #expect(
            bench.machine.serviceRoute.map { String(decoding: $0, as: UTF8.self) } == [
                "<sip:edge.example.com;lr>", "<sip:core.example.com;lr>"
            ])
        #expect(bench.machine.flowTimer == 120)
        #expect(bench.machine.observed == SocketAddress("203.0.113.9:4444"))
    }

    @Test func aLostFlowIsRegisteredAnew() throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(200, Self.ours)
        bench.now = bench.now + .seconds(10)
        bench.machine.lostFlow(at: bench.now)
        #expect(bench.machine.nextDeadline <= bench.now + .seconds(2))
        try bench.wake()
        #expect(bench.requests.count == 2)
    }

    @Test func theEndIsTold() throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(200, Self.ours)
        try bench.stop()
        #expect(bench.requests.last?.header("Expires") == "0")
        #expect(bench.requests.last?.header("Contact")?.contains(";expires=0") == true)
        try bench.answer(401, "WWW-Authenticate: Digest realm=\"pbx\", nonce=\"n1\", qop=\"auth\"")
        try bench.answer(200)
        #expect(bench.machine.state == .ended)
        #expect(bench.machine.nextDeadline == .never)

        // Asked to end while a REGISTER is out: it is answered first.
        var early = Bench()
        try early.start()
        try early.stop()
        #expect(early.requests.count == 1)
        try early.answer(200, Self.ours)
        #expect(early.requests.last?.header("Expires") == "0")
        try early.fail(.noAnswer)
        #expect(early.machine.state == .ended)

        // Nothing is bound: nobody is told.
        var unbound = Bench()
        try unbound.start()
        try unbound.fail(.unreachable)
        try unbound.stop()
        #expect(unbound.requests.count == 1)
        #expect(unbound.machine.state == .ended)
    }

    /// The binding of before is there until its time is over.
    @Test(
        "a line that stops while its refresh is out is unregistered, whatever the registrar says",
        arguments: [(403, ""), (423, "Min-Expires: 7200"), (439, "Subject: x"), (503, "Retry-After: 9")])
    func stopsDuringARefresh(status: Int, row: String) throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(200, Self.ours)
        try bench.wake()
        try bench.stop()
        #expect(bench.requests.count == 2)
        try bench.answer(status, row.isEmpty ? "Subject: x" : row)
        #expect(bench.requests.count == 3 && bench.requests.last?.header("Expires") == "0")
        try bench.answer(200)
        #expect(bench.machine.state == .ended)
        // One that does not answer is not asked again, nor is one that says that nothing is bound.
        for isSilent in [true, false] {
            var bench = Bench()
            try bench.start()
            try bench.answer(200, Self.ours)
            try bench.wake()
            try bench.stop()
            try isSilent ? bench.fail(.noAnswer) : bench.answer(200, "\(Self.ours);expires=0")
            #expect(bench.requests.count == 2 && bench.machine.state == .ended)
        }
    }

    @Test func anAnswerWithoutTheBindingIsAFailure() throws {
        var bench = Bench()
        try bench.start()
        try bench.answer(200, "\(Self.ours);expires=0")
        guard case .failed(.notBound, _)? = bench.actions.last else {
            Issue.record("\(bench.actions)")
            return
        }
    }

    @Test func whatDoesNotBelongIsIgnored() throws {
        var bench = Bench()
        bench.machine.failed(.noAnswer, at: .zero, into: &bench.actions)
        try bench.start()
        bench.machine.start(at: .zero)
        try bench.answer(200, Self.ours)
        try bench.answer(500)
        #expect(bench.machine.unexpected == 3)
        #expect(bench.machine.state == .kept)
    }
}
