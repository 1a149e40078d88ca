// MESSAGE of ours (RFC 3428), in a call and outside of calls: what comes of it, by every answer and by none.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct TextSendingTests {
    private typealias Answer = SIPPeer.Answer

    /// What a text came to, once it is known.
    private final class Sent {
        var result: TextResult?
        var error: CallControlError?
        /// Whether it came to anything.
        var isOver: Bool { result != nil || error != nil }
    }

    private func send(_ text: TextRequest, _ call: Call) -> Sent {
        let sent = Sent()
        call.loop.spawn {
            do { sent.result = try await call.send(text) } catch { sent.error = error as? CallControlError }
        }
        return sent
    }

    /// A call of an engine at 192.0.2.1 that the peer at 192.0.2.2 has answered.
    private func call(_ world: VirtualWorld, _ engine: Engine) throws -> Call {
        let call = try engine.shard(0).place(CallRequest(target: "sip:callee@192.0.2.2"))
        world.loop.run(for: .seconds(1))
        #expect(call.state == .answered)
        return call
    }

    private func peer(
        _ world: VirtualWorld, _ ip: String = "192.0.2.2", answer: @escaping (Message) -> Answer? = { _ in Answer(status: 200) }
    ) throws -> SIPPeer {
        var peer: SIPPeer!
        peer = try SIPPeer(world, ip) { request in
            guard request.method == .invite else { return answer(request) }
            return Answer(status: 200, rows: "Recv-Info: x-desk\r\n", body: peer.description)
        }
        return peer
    }

    @Test(arguments: [
        (200, TextResult.Outcome.delivered), (202, .accepted), (404, .refused), (408, .noAnswer), (415, .refused),
        (503, .unreachable), (603, .refused)
    ])
    func inTheCallEveryAnswerIsAnOutcome(status: Int, outcome: TextResult.Outcome) throws {
        let world = VirtualWorld(seed: 401)
        let peer = try peer(world) { $0.method == .message ? Answer(status: status) : Answer(status: 200) }
        let call = try call(world, try world.engine(at: "192.0.2.1"))
        let sent = send(TextRequest("grüße"), call)
        world.loop.run(for: .seconds(1))
        #expect(sent.result?.outcome == outcome && sent.result?.status == status)
        let request = try #require(peer.requests.last)
        #expect(request.method == .message && text(request.body) == "grüße" && request.contentType == "text/plain")
        #expect(!request.has(.contact), "RFC 3428 section 4")
        #expect(request.callID == peer.requests[0].callID && request.cSeq == 2)
        #expect(call.state == .answered, "whatever became of the text")
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        peer.close()
        #expect(world.finish() == [])
    }

    // RFC 6086: a body of a package says that it is one; what anybody else sends by INFO has its type alone.
    @Test func infoHasItsBodyAndItsOutcome() throws {
        let world = VirtualWorld(seed: 412)
        var status = 200
        let peer = try peer(world) { $0.method == .info ? Answer(status: status) : Answer(status: 200) }
        let engine = try world.engine(at: "192.0.2.1")
        let call = try call(world, engine)
        func send(_ package: String, _ body: String = "state=busy") -> Sent {
            var request = TextRequest(body)
            request.type = "application/x-desk"
            request.carrier = .info(package: package)
            let sent = self.send(request, call)
            world.loop.run(for: .seconds(1))
            return sent
        }
        #expect(send("").result?.outcome == .delivered)
        let plain = try #require(peer.requests.last)
        #expect(plain.method == .info && plain.contentType == "application/x-desk" && text(plain.body) == "state=busy")
        #expect(plain.header("Info-Package") == nil && !plain.has(.contentDisposition))
        #expect(send("x-desk").result?.outcome == .delivered)
        let packaged = try #require(peer.requests.last)
        #expect(packaged.header("Info-Package") == "x-desk" && packaged.header(.contentDisposition) == "Info-Package")
        status = 469
        #expect(send("x-desk").result == TextResult(.refused, status: 469, reason: "Bad Info Package"))
        #expect(send("", String(repeating: "x", count: 1300)).error?.words.hasPrefix("send-info: the INFO would have") == true)
        #expect(call.state == .answered)
        // Keys by INFO are answered for themselves.
        var options = SendDigitsOptions(method: .info)
        options.duration = .milliseconds(50)
        call.loop.spawn { try? await call.sendDigits("1", options: options) }
        world.loop.run(for: .seconds(1))
        #expect(peer.requests.last?.contentType == "application/dtmf-relay")
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        #expect(send("").error == .wrongState(operation: "send-info", why: "the call has ended"))
        peer.close()
        #expect(world.finish() == [])
    }

    // A 481 says that the far side has lost the call.
    @Test func aCallThatTheFarSideHasForgottenEnds() throws {
        let world = VirtualWorld(seed: 402)
        let peer = try peer(world) { $0.method == .message ? Answer(status: 481) : Answer(status: 200) }
        let call = try call(world, try world.engine(at: "192.0.2.1"))
        let sent = send(TextRequest("hello"), call)
        world.loop.run(for: .seconds(1))
        #expect(sent.isOver && call.state.isEnded)
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func aTextThatIsDroppedEndsNoCallAndTheNextOneWaits() throws {
        let world = VirtualWorld(seed: 403)
        var isDeaf = true
        let peer = try peer(world) { $0.method == .message && isDeaf ? nil : Answer(status: 200) }
        let call = try call(world, try world.engine(at: "192.0.2.1"))
        var first = TextRequest("one")
        first.timeout = .seconds(5)
        let one = send(first, call)
        world.loop.run(for: .seconds(6))
        #expect(one.result?.outcome == .noAnswer && one.result?.status == 0)
        // While the first has no answer, no second one is on its way (RFC 3428 section 8).
        let (two, three) = (send(first, call), send(TextRequest("three"), call))
        world.loop.run(for: .seconds(12))
        #expect(two.result == TextResult(.noAnswer, reason: "the text before it is not answered yet"))
        #expect(three.result?.outcome == .noAnswer && !peer.requests.contains { text($0.body) == "three" })
        world.loop.run(for: .seconds(20))
        #expect(call.state == .answered, "who drops texts is there all the same")
        isDeaf = false
        let four = send(TextRequest("four"), call)
        world.loop.run(for: .seconds(1))
        #expect(four.result?.outcome == .delivered)
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func theEndOfTheCallEndsTheWait() throws {
        let world = VirtualWorld(seed: 404)
        let peer = try peer(world) { $0.method == .message ? nil : Answer(status: 200) }
        let call = try call(world, try world.engine(at: "192.0.2.1"))
        let sent = send(TextRequest("hello"), call)
        world.loop.run(for: .seconds(1))
        call.hangUp(.normal)
        world.loop.run(for: .milliseconds(1))
        #expect(sent.result?.outcome == .noAnswer)
        let late = send(TextRequest("hello"), call)
        world.loop.run(for: .milliseconds(1))
        #expect(late.error == .wrongState(operation: "send-message", why: "the call has ended"))
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func challengesAreAnsweredInACallAndOutside() throws {
        let world = VirtualWorld(seed: 405)
        let challenge = "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n"
        let peer = try peer(world) {
            $0.method == .message && $0.header(.authorization) == nil ? Answer(status: 401, rows: challenge) : Answer(status: 200)
        }
        let engine = try world.engine(at: "192.0.2.1") {
            $0.lines = [LineSettings(name: "trunk", server: "192.0.2.2", username: "u", password: Secret("geheim"))]
        }
        let call = try engine.shard(0).place(CallRequest(target: "100", line: "trunk"))
        world.loop.run(for: .seconds(1))
        let (inside, outside) = (send(TextRequest("in"), call), send(TextRequest("out", to: "line:trunk/200"), call))
        world.loop.run(for: .seconds(1))
        #expect(inside.result?.outcome == .delivered && outside.result?.outcome == .delivered)
        let given = peer.requests.filter { $0.method == .message && $0.header(.authorization) != nil }
        #expect(Set(given.map { text($0.body) }) == ["in", "out"])
        let out = try #require(given.first { text($0.body) == "out" })
        #expect(text(out.requestURIOctets) == "sip:200@192.0.2.2" && out.cSeq <= 2 && !out.has(.contact))
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func credentialsThatAreWrongAreARefusal() throws {
        let world = VirtualWorld(seed: 406)
        var count = 0
        let peer = try peer(world) { _ in
            count += 1
            return Answer(status: 407, rows: "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\(count)\", qop=\"auth\"\r\n")
        }
        let engine = try world.engine(at: "192.0.2.1") {
            $0.lines = [LineSettings(name: "trunk", server: "192.0.2.2", username: "u", password: Secret("geheim"))]
        }
        var result: TextResult?
        world.loop.spawn { result = try? await engine.shard(0).send(TextRequest("hello"), to: "line:trunk/200") }
        world.loop.run(for: .seconds(1))
        #expect(result?.outcome == .refused && result?.status == 407 && (2...3).contains(count))
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func allDevicesOfAUserGetItAndTheBestAnswerCounts() throws {
        let town = try RegistrarTown(seed: 407)
        try town.phone("192.0.2.11")
        try town.phone("192.0.2.12", transport: .tcp)
        town.world.loop.run(for: .seconds(2))
        var texts: [String] = []
        town.phones["192.0.2.11"]?.shard(0).onMessage = { texts.append("\($0.line) \($0.text)") }
        var results: [TextResult?] = []
        for name in ["anna", "hall"] {
            town.world.loop.spawn {
                results.append(try? await town.server.shard(0).send(TextRequest("hello"), to: "user:\(name)"))
            }
            town.world.loop.run(for: .seconds(1))
        }
        // The other device takes no texts (405).
        #expect(texts == ["home hello"])
        #expect(results[0]?.outcome == .delivered)
        #expect(results[1] == TextResult(.unreachable, reason: "no device of hall is registered"))
        #expect(town.finish() == [])
    }

    @Test func whatCannotBeSentIsSaid() throws {
        let world = VirtualWorld(seed: 408)
        let engine = try world.engine(at: "192.0.2.1")
        let shard = engine.shard(0)
        var errors: [String] = []
        var results: [TextResult] = []
        func attempt(_ text: String, _ target: String) {
            world.loop.spawn {
                do {
                    results.append(try await shard.send(TextRequest(text), to: target))
                } catch {
                    errors.append((error as? CallControlError)?.words ?? "\(error)")
                }
            }
            world.loop.run(for: .seconds(40))
        }
        attempt(String(repeating: "x", count: 1300), "sip:far@192.0.2.9")
        attempt("hello", "line:nowhere/100")
        attempt("hello", "tel:+15550100")
        #expect(errors.count == 3)
        #expect(errors[0].contains("octets; 1300 are allowed with its header"))
        #expect(errors[1].contains("there is no line \"nowhere\"") && errors[2].contains("a number is called through a line"))
        attempt("hello", "sip:far@nowhere.invalid")
        attempt("hello", "sip:far@192.0.2.9")
        let silent = try peer(world, "192.0.2.8") { _ in nil }
        attempt("hello", "sip:far@192.0.2.8")
        #expect(results.map(\.outcome) == [.unreachable, .unreachable, .noAnswer])
        silent.close()
        #expect(world.finish() == [])
    }

    @Test func theNextServerIsTriedWhereOneIsBusy() throws {
        let world = VirtualWorld(seed: 409)
        let busy = try peer(world, "192.0.2.8") { _ in Answer(status: 503) }
        let well = try peer(world, "192.0.2.9")
        let engine = try world.engine(at: "192.0.2.1") {
            $0.names = NameLookup { query in
                guard case .addresses("pair.example") = query else { return NameRecords() }
                return NameRecords(addresses: [IPAddress("192.0.2.8")!, IPAddress("192.0.2.9")!])
            }
        }
        var result: TextResult?
        for _ in 0..<3 {
            world.loop.spawn { result = try? await engine.shard(0).send(TextRequest("hi"), to: "sip:far@pair.example:5060") }
            world.loop.run(for: .seconds(2))
            #expect(result?.outcome == .delivered)
        }
        #expect(well.count(.message) == 3 && busy.count(.message) <= 1)
        busy.close()
        well.close()
        #expect(world.finish() == [])
    }

    @Test func aRedirectionIsFollowedWithinItsLimits() throws {
        let world = VirtualWorld(seed: 411)
        // The peer names itself as well, before these.
        var contacts = ""
        let old = try peer(world, "192.0.2.8") { _ in Answer(status: 302, rows: contacts) }
        let new = try peer(world, "192.0.2.9") {
            Answer(status: (try? $0.requestURI().user) == "never" ? 603 : (try? $0.requestURI().user) == "busy" ? 486 : 200)
        }
        let engine = try world.engine(at: "192.0.2.1") {
            $0.redirects = .init(limit: 4) { !$0.contains("premium") }
            $0.lines = [
                LineSettings(name: "trunk", server: "192.0.2.8", username: "u", password: Secret("geheim"), callerID: "4711"),
                LineSettings(name: "strict", server: "192.0.2.8")
            ]
            $0.lines[0].identity = .asserted
            $0.lines[1].redirects = 0
        }
        func send(_ target: String, to list: String) -> TextResult? {
            contacts = list
            var result: TextResult?
            world.loop.spawn { result = try? await engine.shard(0).send(TextRequest("hi"), to: target) }
            world.loop.run(for: .seconds(2))
            return result
        }
        let busyFirst = "Contact: <sip:far@192.0.2.9>;q=0.5, <sip:busy@192.0.2.9>, <sip:premium@192.0.2.9>\r\n"
        #expect(send("line:trunk/100", to: busyFirst)?.outcome == .delivered)
        #expect(new.requests.map { text($0.requestURIOctets) } == ["sip:busy@192.0.2.9", "sip:far@192.0.2.9"])
        #expect(Set((old.requests + new.requests).map { "\(text($0.callID)) \($0.header("From")!)" }).count == 1)
        #expect(new.requests.map(\.cSeq) == [3, 4] && new.requests.allSatisfy { text($0.body) == "hi" })
        #expect(old.requests.first?.header(.pAssertedIdentity) == "<sip:4711@192.0.2.8>")
        #expect(new.requests.allSatisfy { !$0.has(.pAssertedIdentity) }, "that is for the line's network")
        // Who speaks for all ends it; a loop, one that may not be sent to, and a line that follows nothing are its end.
        #expect(send("sip:a@192.0.2.8", to: "Contact: <sip:never@192.0.2.9>, <sip:far@192.0.2.9>;q=0.1\r\n")?.status == 603)
        for list in ["Contact: <sip:a@192.0.2.8>\r\n", "Contact: <sip:premium@192.0.2.9>\r\n", ""] {
            #expect(send("sip:a@192.0.2.8", to: list) == TextResult(.refused, status: 302, reason: "Moved Temporarily"))
        }
        #expect(send("line:strict/100", to: busyFirst)?.status == 302 && new.requests.count == 3)
        old.close()
        new.close()
        #expect(world.finish() == [])
    }

    @Test func itArrivesOnceHoweverBadTheNetwork() throws {
        let world = VirtualWorld(seed: 410)
        world.network.impairment.loss = 0.3
        world.network.impairment.duplication = 0.2
        var texts: [String] = []
        let server = try world.engine(at: "192.0.2.2") {
            $0.lines = [LineSettings(name: "pbx", server: "192.0.2.1", from: [IPNetwork("192.0.2.1")!])]
        }
        server.shard(0).onMessage = { texts.append($0.text) }
        let engine = try world.engine(at: "192.0.2.1")
        var delivered = 0
        for number in 0..<40 {
            world.loop.spawn {
                var text = TextRequest("\(number)")
                text.timeout = .seconds(600)
                let result = try? await engine.shard(0).send(text, to: "sip:far@192.0.2.2")
                if result?.outcome == .delivered { delivered += 1 }
            }
        }
        world.loop.run(for: .seconds(590))
        #expect(delivered == 40 && texts.count == 40 && Set(texts).count == 40)
        #expect(world.finish() == [])
    }
}
