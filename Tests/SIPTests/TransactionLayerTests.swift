// The transaction layer: matching, repetitions, CANCEL, merged requests, overload, and two layers over a lossy network.

import Basics
import SIP
import Testing

struct TransactionLayerTests {
    let peer = Hop(transport: .udp, address: SocketAddress("192.0.2.7:5062")!)
    var layer = TransactionLayer(seed: 1)
    var actions: [TransactionAction] = []
    var now = Instant.zero

    private func request(
        _ method: String, branch: String, callID: String = "c1", cSeq: Int = 1, toTag: String? = nil, extra: String = ""
    ) -> Message {
        let to = toTag.map { "<sip:x@h>;tag=\($0)" } ?? "<sip:x@h>"
        return vector(
            octets(
                "\(method) sip:x@h SIP/2.0", "Via: SIP/2.0/UDP 192.0.2.7:5062;rport;branch=\(branch)", "From: <sip:a@h>;tag=f",
                "To: \(to)",
                "Call-ID: \(callID)", "CSeq: \(cSeq) \(method)\(extra)"))
    }

    private func response(_ status: Int, to sent: [UInt8], tag: String = "t") -> Message {
        vector(vector(sent).response(status, tag: Array(tag.utf8)[...]))
    }

    private var sent: [[UInt8]] {
        actions.compactMap { if case .send(let octets, _) = $0 { octets } else { nil } }
    }

    private var firstRequest: TransactionID? {
        for case .request(_, let id, _) in actions { return id }
        return nil
    }

    private mutating func receive(_ message: Message) {
        actions = []
        layer.receive(message, from: peer, at: now, into: &actions)
    }

    private mutating func run(until end: Instant) {
        while true {
            let next = layer.nextDeadline()
            guard next <= end else { break }
            now = next
            layer.fire(at: now, into: &actions)
        }
        now = end
    }

    @Test mutating func inviteTimesOutAfterSevenCopies() throws {
        let branch = layer.newBranch()
        let invite = request("INVITE", branch: text(branch)).octets
        let id = layer.send(invite, method: .invite, branch: branch, to: peer, at: now, into: &actions)
        run(until: Instant(nanoseconds: 40_000_000_000))
        #expect(sent.count == 7)
        guard case .timedOut(id) = actions[actions.count - 2], case .ended(id) = actions.last else {
            Issue.record("no timeout")
            return
        }
        #expect(layer.count == 0 && layer.nextDeadline() == .never)
    }

    // B049: the ACK for a refusal repeats Route, branch and Request-URI, and has the To tag of the refusal.
    @Test mutating func b049RefusalIsAcknowledged() throws {
        let branch = layer.newBranch()
        let invite = request("INVITE", branch: text(branch), extra: "\r\nRoute: <sip:proxy;lr>, <sip:two;lr>").octets
        _ = layer.send(invite, method: .invite, branch: branch, to: peer, at: now, into: &actions)
        receive(response(486, to: invite))
        let ack = try Message(parsing: try #require(sent.first))
        #expect(ack.method == .ack && ack.cSeq == 1 && ack.cSeqMethod == .ack)
        #expect(try ack.topVia().branch.elementsEqual(branch))
        #expect(ack.header("Route") == "<sip:proxy;lr>, <sip:two;lr>" && ack.header("To") == "<sip:x@h>;tag=t")
        receive(response(486, to: invite))
        #expect(sent.count == 1 && actions.count == 1)
        actions = []
        run(until: now + .seconds(33))
        #expect(layer.count == 0)
    }

    // B061 and B059: CANCEL has the INVITE's branch; its 487 is acknowledged; without one the INVITE ends after 64*T1.
    @Test mutating func b061b059Cancel() throws {
        let branch = layer.newBranch()
        let invite = request("INVITE", branch: text(branch), cSeq: 7).octets
        let id = layer.send(invite, method: .invite, branch: branch, to: peer, at: now, into: &actions)
        receive(response(180, to: invite))
        actions = []
        let cancelID = layer.cancel(id, at: now, into: &actions)
        let cancel = try Message(parsing: try #require(sent.first))
        #expect(cancel.method == .cancel && cancel.cSeq == 7 && cancelID != nil && cancel.header("To") == "<sip:x@h>")
        #expect(try cancel.topVia().branch.elementsEqual(branch))
        receive(response(200, to: cancel.octets))
        guard case .response(_, cancelID!, _) = actions[0] else { Issue.record(); return }
        var early = self
        receive(response(487, to: invite))
        #expect(try Message(parsing: sent[0]).method == .ack)
        early.actions = []
        early.run(until: early.now + .seconds(33))
        let timeouts = early.actions.filter { if case .timedOut(id) = $0 { true } else { false } }
        #expect(timeouts.count == 1 && early.layer.count == 0)
    }

    // B062: a repeated CANCEL gets 200 again, and there is one 487.
    @Test mutating func b062RepeatedCancel() throws {
        receive(request("INVITE", branch: "z9hG4bKi"))
        let invite = try #require(firstRequest)
        receive(request("CANCEL", branch: "z9hG4bKi"))
        guard case .cancel(let message, let id, invite: invite?, _) = actions[0] else { Issue.record(); return }
        layer.respond(id, status: 200, message.response(200, tag: [116]), at: now, into: &actions)
        layer.respond(invite, status: 487, request("INVITE", branch: "z9hG4bKi").response(487), at: now, into: &actions)
        #expect(sent.count == 2)
        receive(request("CANCEL", branch: "z9hG4bKi"))
        #expect(actions.count == 1)
        #expect(try Message(parsing: sent[0]).status == 200)
        receive(request("CANCEL", branch: "z9hG4bKunknown"))
        guard case .cancel(_, _, invite: nil, _) = actions[0] else { Issue.record(); return }
        receive(request("ACK", branch: "z9hG4bKi", toTag: "t"))
        #expect(actions.isEmpty)
    }

    @Test mutating func serverRepeatsAndAbsorbs() throws {
        receive(request("INVITE", branch: "z9hG4bKs"))
        let id = try #require(firstRequest)
        receive(request("INVITE", branch: "z9hG4bKs"))
        #expect(actions.isEmpty)
        run(until: now + .milliseconds(250))
        #expect(try Message(parsing: try #require(sent.first)).status == 100)
        receive(request("INVITE", branch: "z9hG4bKs"))
        #expect(try Message(parsing: try #require(sent.first)).status == 100)
        actions = []
        layer.respond(id, status: 486, request("INVITE", branch: "z9hG4bKs").response(486, tag: [49]), at: now, into: &actions)
        run(until: now + .seconds(40))
        #expect(sent.count == 11)  // 0, 0.5, 1.5, 3.5, 7.5, … 31.5 s
        #expect(layer.count == 0 && actions.contains { if case .timedOut(id) = $0 { true } else { false } })
    }

    @Test mutating func acceptedInviteAndLateAck() throws {
        receive(request("INVITE", branch: "z9hG4bKa"))
        let id = try #require(firstRequest)
        layer.respond(id, status: 200, request("INVITE", branch: "z9hG4bKa").response(200, tag: [49]), at: now, into: &actions)
        receive(request("INVITE", branch: "z9hG4bKa"))
        #expect(actions.isEmpty)
        receive(request("ACK", branch: "z9hG4bKother", toTag: "1"))
        guard case .acknowledgement = actions[0] else { Issue.record(); return }
        // An ACK with the INVITE's own branch belongs to it as well (RFC 2543 peers do that).
        receive(request("ACK", branch: "z9hG4bKa", toTag: "1"))
        guard case .acknowledgement = actions[0] else { Issue.record(); return }
        actions = []
        run(until: now + .seconds(33))
        #expect(layer.count == 0)
    }

    @Test mutating func mergedRequestGets482() throws {
        receive(request("INVITE", branch: "z9hG4bKm1"))
        receive(request("INVITE", branch: "z9hG4bKm2"))
        #expect(actions.count == 1)
        #expect(try Message(parsing: try #require(sent.first)).status == 482)
        receive(request("INVITE", branch: "z9hG4bKm3", callID: "c2"))
        #expect(firstRequest != nil)
        // In a dialog the same numbers may come again over another way.
        receive(request("BYE", branch: "z9hG4bKm4", toTag: "1"))
        #expect(firstRequest != nil)
    }

    @Test mutating func aRefusalWithoutATransactionLeavesNothing() throws {
        func refuse() throws -> Message {
            let id = try #require(firstRequest)
            actions = []
            layer.refuse(
                id, request("INVITE", branch: "z9hG4bKo"), from: peer, status: 503, rows: Array("Retry-After: 5\r\n".utf8),
                into: &actions)
            return try Message(parsing: try #require(sent.first))
        }
        receive(request("INVITE", branch: "z9hG4bKo"))
        let answer = try refuse()
        #expect(answer.status == 503 && answer.number(.retryAfter) == 5 && layer.count == 0)
        let tag = try answer.to().tag
        receive(request("INVITE", branch: "z9hG4bKo"))
        #expect(try refuse().to().tag == tag)
        // Neither the timer of the 100 nor the mark of the request is left.
        actions = []
        run(until: now + .seconds(33))
        #expect(sent.isEmpty && layer.count == 0 && layer.counters.stateless == 2)
        receive(request("INVITE", branch: "z9hG4bKq"))
        #expect(firstRequest != nil)
    }

    @Test mutating func legacyMatching() throws {
        let rows = ["Via: SIP/2.0/UDP 192.0.2.7:5062;branch=1", "From: sip:a@h;tag=2", "Call-ID: old"]
        let invite = try Message(
            parsing: octets("INVITE sip:x@h SIP/2.0", rows[0], rows[1], rows[2], "To: sip:x@h", "CSeq: 3 INVITE"))
        receive(invite)
        let id = try #require(firstRequest)
        receive(invite)
        #expect(actions.isEmpty)
        layer.respond(id, status: 404, invite.response(404, tag: [57]), at: now, into: &actions)
        receive(
            try Message(parsing: octets("ACK sip:x@h SIP/2.0", rows[0], rows[1], rows[2], "To: sip:x@h;tag=9", "CSeq: 3 ACK")))
        #expect(actions.isEmpty)
        run(until: now + .seconds(6))
        #expect(layer.count == 0)
    }

    @Test mutating func malformedIsAnsweredWithoutATransaction() throws {
        receive(request("INVITE", branch: "z9hG4bKx", extra: "\r\nContact: <sip:a b@h>"))
        #expect(try Message(parsing: try #require(sent.first)).status == 400)
        #expect(layer.count == 0)
        receive(request("ACK", branch: "z9hG4bKx", extra: "\r\nContact: <sip:a b@h>"))
        #expect(actions.isEmpty)
    }

    @Test mutating func responseHops() throws {
        receive(request("BYE", branch: "z9hG4bKh", toTag: "1"))
        #expect(layer.responseHop(try #require(firstRequest)) == peer)
        let plain = try Message(
            parsing: octets(
                "BYE sip:x@h SIP/2.0", "Via: SIP/2.0/UDP 192.0.2.9:7000;branch=z9hG4bKq", "From: <sip:a@h>;tag=f",
                "To: <sip:x@h>;tag=2", "Call-ID: h",
                "CSeq: 1 BYE"))
        receive(plain)
        #expect(layer.responseHop(try #require(firstRequest))?.address == SocketAddress("192.0.2.7:7000"))
    }

    @Test mutating func transportErrors() throws {
        let branch = layer.newBranch()
        let id = layer.send(
            request("OPTIONS", branch: text(branch)).octets, method: .options, branch: branch, to: peer, at: now, into: &actions)
        actions = []
        layer.hopFailed(peer, at: now, into: &actions)
        guard case .transportFailed(id) = actions[0], case .ended(id) = actions[1] else { Issue.record(); return }
        #expect(layer.count == 0)
    }

    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func lossyNetwork(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var network = LossyPair(seed: seed)
        var finals = 0
        var wanted = 0
        var branches: [TransactionID: Bool] = [:]
        for number in 0..<200 {
            let method: Method = random.happens(0.5) ? .invite : .options
            let branch = network.ends[0].newBranch()
            let message = request(method == .invite ? "INVITE" : "OPTIONS", branch: text(branch), callID: "l\(number)").octets
            let id = network.send(message, method, branch, at: Instant(nanoseconds: Int64(number) * 7_000_000))
            branches[id] = false
            wanted += 1
        }
        network.run(until: Instant(nanoseconds: 200_000_000_000)) { id, status in
            guard status >= 200, branches[id] == false else { return }
            branches[id] = true
            finals += 1
        }
        // 30% lost both ways: seven copies or more make a loss of all of them rare, and then there is a timeout.
        #expect(finals + network.timeouts >= wanted, "seed \(seed)")
        #expect(finals > 190, "seed \(seed)")
        #expect(network.ends.allSatisfy { $0.count == 0 }, "seed \(seed)")
        #expect(network.delivered.values.allSatisfy { $0 == 1 }, "seed \(seed): a request was delivered twice")
    }
}
