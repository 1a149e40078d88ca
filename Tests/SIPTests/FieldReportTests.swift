// Reports of what went wrong for others, by their ids, as far as messages and sessions are concerned and no other file has them.

import Basics
import SIP
import Testing

struct FieldReportTests {
    private func request(_ start: String, _ rows: String..., body: String = "") -> Message {
        vector(
            octets(
                "\(start) SIP/2.0", "Via: SIP/2.0/UDP h;branch=z9hG4bKr", "From: <sip:a@h>;tag=1", "To: <tel:+15550100>",
                "Call-ID: r",
                rows.joined(separator: "\r\n"), body: body))
    }

    @Test func b086OctetsBehindTheBody() throws {
        let message = request("INFO sip:x@h", "CSeq: 1 INFO", "Content-Length: 2", body: "ab-and-more")
        try message.check()
        #expect(text(message.body) == "ab")
    }

    @Test func b087BareLineFeedAndContactList() throws {
        let message = request(
            "REGISTER sip:h", "CSeq: 1 REGISTER\nSubject: s", "m: <sip:a@h>;+i=\"<urn:1>\",<sip:b@h>;+i=\"<urn:2>\"")
        #expect(message.header(.subject) == "s")
        #expect(try message.contacts().map { $0.parameters["+i"].map { text($0) } } == ["<urn:1>", "<urn:2>"])
    }

    @Test func b089TelIsANumber() throws {
        let uri = try request("INVITE sip:x@h", "CSeq: 1 INVITE").to().uri()
        #expect(uri.scheme == .tel && uri.user == "+15550100" && uri.host.isEmpty)
    }

    @Test func b090FirstViaOfARow() throws {
        var layer = TransactionLayer(seed: 5)
        var actions: [TransactionAction] = []
        let hop = Hop(transport: .udp, address: try #require(SocketAddress("192.0.2.7:5060")))
        let branch = layer.newBranch()
        let id = layer.send([1], method: .options, branch: branch, to: hop, at: .zero, into: &actions)
        let response = vector(
            octets(
                "SIP/2.0 401 x",
                "Via: SIP/2.0/UDP a;received=192.0.2.1;rport=5;branch=\(text(branch)),SIP/2.0/TCP b;branch=z9hG4bKo",
                "From: <sip:a@h>;tag=1", "To: <sip:x@h>", "Call-ID: r", "CSeq: 1 OPTIONS"))
        actions = []
        layer.receive(response, from: hop, at: .zero, into: &actions)
        guard case .response(_, id, _) = actions.first else { Issue.record("not matched"); return }
    }

    @Test func b091BodyIsNotTouched() {
        let body = "a\nb\r\nc\rd\n\n"
        let message = request("INFO sip:x@h", "CSeq: 1 INFO", "Content-Length: \(body.utf8.count)", body: body)
        #expect(text(message.body) == body)
    }

    @Test func b093NamesThatStartAlike() {
        let message = request("INVITE sip:x@h", "CSeq: 1 INVITE", "Allow: BYE", "Allow-Events: x", "Contacts: y", "Viaduct: z")
        #expect(message.tokens(.allow) == ["BYE"] && message.tokens(.allowEvents) == ["x"])
        #expect(!message.has(.contact) && message.values(.via).count == 1)
    }

    @Test func b094BareNumberSign() throws {
        let message = request("INVITE sip:#123@h:5081;user=phone", "CSeq: 1 INVITE")
        try message.check()
        #expect(try message.requestURI().user == "#123")
    }

    @Test func b096b097LongAndRepeatedHeaders() {
        let long = String(repeating: "x", count: 1536)
        let message = request("INVITE sip:x@h", "CSeq: 1 INVITE", "X-Token: \(long)", "Diversion: <tel:1>", "Diversion: <tel:2>")
        #expect(message.header("x-token") == long && message.headers("Diversion") == ["<tel:1>", "<tel:2>"])
    }

    // B064: after a digest round the CANCEL belongs to the second INVITE.
    @Test func b064CancelOfTheSecondInvite() throws {
        var layer = TransactionLayer(seed: 6)
        var actions: [TransactionAction] = []
        let hop = Hop(transport: .udp, address: try #require(SocketAddress("192.0.2.7:5060")))
        var ids: [TransactionID] = []
        var branches: [[UInt8]] = []
        for number in 1...2 {
            branches.append(layer.newBranch())
            let invite = octets(
                "INVITE sip:x@h SIP/2.0", "Via: SIP/2.0/UDP h;branch=\(text(branches.last!))", "From: <sip:a@h>;tag=1",
                "To: <sip:x@h>", "Call-ID: r",
                "CSeq: \(number) INVITE")
            ids.append(layer.send(invite, method: .invite, branch: branches.last!, to: hop, at: .zero, into: &actions))
            let status = number == 1 ? 401 : 180
            layer.receive(vector(vector(invite).response(status, tag: [65])), from: hop, at: .zero, into: &actions)
        }
        actions = []
        #expect(layer.cancel(ids[0], at: .zero, into: &actions) == nil)
        _ = layer.cancel(ids[1], at: .zero, into: &actions)
        guard case .send(let sent, _) = actions.first else { Issue.record("nothing was sent"); return }
        #expect(vector(sent).cSeq == 2)
        #expect(try vector(sent).topVia().branch.elementsEqual(branches[1]))
    }

    // B053 and B068: a re-INVITE that overtakes the ACK is taken; each ACK stops the 200 with its own number only.
    @Test func b053b068AcksByNumber() {
        var pair = CallPair()
        pair.ends[0].place(at: pair.now)
        pair.flush()
        pair.ends[1].receive(pair.trace[0].message.octets, at: pair.now)
        for octets in pair.ends[1].outbox { pair.ends[0].receive(octets, at: pair.now) }
        pair.ends[1].outbox = []
        let ack = pair.ends[0].outbox
        pair.ends[0].outbox = []
        pair.ends[0].act(pair.now) { _ = $0.reinvite(body: [1], into: &$1) }
        for octets in pair.ends[0].outbox { pair.ends[1].receive(octets, at: pair.now) }
        #expect(pair.ends[1].log == ["reinvited"])
        for octets in ack { pair.ends[1].receive(octets, at: pair.now) }
        #expect(pair.ends[1].log == ["reinvited", "confirmed"])
        #expect(pair.ends[1].session!.nextDeadline != .never)
    }
}
