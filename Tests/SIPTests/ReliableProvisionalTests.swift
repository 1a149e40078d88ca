// Reliable provisional responses (RFC 3262) over two whole ends, with loss; field reports B071, B073, B074.

import Basics
import SIP
import Testing

struct ReliableProvisionalTests {
    private func pair(require: Bool = true, answers: Bool = true, rings: Bool = false) -> CallPair {
        var pair = CallPair()
        pair.ends[0].inviteRows = Array("\(require ? "Require" : "Supported"): 100rel\r\n".utf8)
        pair.ends[1].early = [83]
        pair.ends[1].rings = rings
        pair.ends[1].answers = answers
        pair.ends[0].place(at: pair.now)
        return pair
    }

    @Test func `the 200 waits for the PRACK of a 183 with a description (B071)`() {
        var pair = pair()
        pair.run(for: .milliseconds(2))
        #expect(pair.sent(1, status: 183).count == 1)
        #expect(pair.sent(1, status: 200).isEmpty)
        pair.run(for: .seconds(3))
        let prack = pair.sent(0, .prack)
        #expect(prack.count == 1)
        #expect(prack[0].rAck().map { $0.cSeq == 1 && $0.method == "INVITE" } == true)
        #expect(prack[0].rAck().map { Int($0.rSeq) } == pair.sent(1, status: 183)[0].number(.rSeq))
        #expect(pair.sent(1, status: 183).count == 1, "no repetition after the PRACK")
        #expect(pair.sent(1, status: 200).map(\.cSeqMethod) == [.prack, .invite])
        #expect(pair.ends.allSatisfy { $0.session?.state == .confirmed })
        pair.hangUp(0)
        pair.run(for: .seconds(80))
        #expect(pair.ends.allSatisfy { $0.layer.count == 0 && $0.session?.nextDeadline == .never })
    }

    @Test func `ringing and early media are acknowledged one after the other`() {
        var pair = pair(rings: true)
        pair.run(for: .seconds(3))
        #expect(pair.sent(0, .prack).count == 2)
        let numbers = (pair.sent(1, status: 180) + pair.sent(1, status: 183)).compactMap { $0.number(.rSeq) }
        #expect(numbers.count == 2 && numbers[1] == numbers[0] + 1)
        #expect(pair.ends[0].log.prefix(3) == ["progress 180", "progress 183", "answered"])
    }

    @Test func `where it is only supported nothing is reliable unless it has to be`() {
        var pair = pair(require: false)
        pair.run(for: .seconds(3))
        #expect(pair.sent(0, .prack).isEmpty)
        #expect(pair.sent(1, status: 183)[0].has(.rSeq) == false)
    }

    @Test func `a 183 without PRACK is repeated, then the INVITE is refused with 504`() {
        var pair = pair(answers: false)
        pair.run(for: .milliseconds(1))
        pair.ends[0].session = nil
        pair.run(for: .seconds(40))
        // 0.5, 1, 2, … s apart, until 32 s are over.
        #expect(pair.sent(1, status: 183).count == 7)
        #expect(pair.sent(1, status: 504).count >= 1)
        #expect(pair.ends[1].log.contains("ended noPRACK"))
    }

    @Test func `a PRACK that names nothing gets 481`() {
        var pair = pair(answers: false)
        pair.run(for: .seconds(1))
        let early = pair.sent(1, status: 183)[0]
        pair.ends[0].act(pair.now) { session, actions in
            var other = Dialog.early(of: session, by: early)
            other?.localCSeq += 5
            let rows = Array("RAck: 99 1 INVITE\r\n".utf8)
            if let request = other?.request(.prack, end: session.end, branch: Array("z9hG4bKx".utf8), headers: rows) {
                actions.append(.send(request))
            }
        }
        pair.run(for: .seconds(1))
        #expect(pair.sent(1, status: 481).count == 1)
    }

    @Test func `a 180 with Require but without RSeq gets no PRACK; a repeated one gets none either (B073, B074)`() {
        var pair = CallPair()
        pair.ends[0].place(at: pair.now)
        pair.run(for: .zero)
        let invite = pair.sent(0, .invite)[0]
        func response(_ rows: String, tag: String = "a") -> Message {
            var writer = MessageWriter()
            writer.response(183, to: invite, tag: Array(tag.utf8)[...], source: SessionEndpoint.source)
            writer.append(Array(("Contact: <sip:b@192.0.2.2>\r\n" + rows).utf8))
            writer.finish()
            return vector(writer.octets)
        }
        var session = pair.ends[0].session!
        func told(_ message: Message) -> (pracks: Int, progress: Int) {
            var actions: [SessionAction] = []
            session.received(response: message, at: .zero, into: &actions)
            return actions.reduce(into: (0, 0)) { sum, action in
                if case .send(let request) = action, request.method == .prack { sum.0 += 1 }
                if case .progress = action { sum.1 += 1 }
            }
        }
        let reliable = "Require: 100rel\r\n"
        let verdicts = [
            told(response(reliable)), told(response(reliable + "RSeq: 7\r\n")), told(response(reliable + "RSeq: 7\r\n")),
            // 8 is missing, then comes; another branch counts for itself.
            told(response(reliable + "RSeq: 9\r\n")), told(response(reliable + "RSeq: 8\r\n")),
            told(response(reliable + "RSeq: 40\r\n", tag: "b"))
        ]
        #expect(verdicts.map(\.pracks) == [0, 1, 0, 0, 1, 1])
        #expect(verdicts.map(\.progress) == [1, 1, 0, 0, 1, 1])
    }

    @Test(arguments: UInt64(1)...20) func `all of it with a third of the packets lost`(seed: UInt64) {
        var pair = CallPair(seed: seed)
        pair.loss = 0.33
        pair.jitter = 200
        pair.ends[0].inviteRows = Array("Require: 100rel\r\n".utf8)
        pair.ends[1].early = [83]
        pair.ends[0].place(at: pair.now)
        pair.run(for: .seconds(60))
        pair.hangUp(0)
        pair.run(for: .seconds(120))
        #expect(
            pair.ends.allSatisfy { $0.layer.count == 0 && $0.session?.nextDeadline ?? .never == .never },
            "seed \(seed): \(pair.ends.map(\.log))")
        if pair.ends[0].log.contains("answered") { #expect(pair.ends[0].log.contains("progress 183")) }
    }
}

extension Dialog {
    /// The early dialog of a caller's session.
    static func early(of session: InviteSession, by response: Message) -> Dialog? {
        session.outgoingInvite.flatMap { try? Dialog(placing: $0, response: response) }
    }
}
