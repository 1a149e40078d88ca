// Invite sessions of both roles over the transaction layer: scripts of calls, also with loss, races and field reports
// B051, B053, B055, B056, B059, B064, B065, B066, B068.

import Basics
import SIP
import Testing

/// Two ends and the packets between them.
struct CallPair {
    var ends = [SessionEndpoint("192.0.2.1:5060", seed: 21), SessionEndpoint("192.0.2.2:5060", seed: 22)]
    var now = Instant.zero
    var random: SeededRandom
    var loss = 0.0
    var jitter = 1
    /// Everything that was sent: end, octets.
    var trace: [(end: Int, message: Message)] = []
    private var flying: [(at: Instant, to: Int, octets: [UInt8])] = []

    init(seed: UInt64 = 1) { random = SeededRandom(seed: seed) }

    mutating func flush() {
        for end in 0...1 {
            for octets in ends[end].outbox {
                if let message = try? Message(parsing: octets) { trace.append((end, message)) }
                for _ in 0..<(loss > 0 && random.happens(0.1) ? 2 : 1) where !random.happens(loss) {
                    let delay = Duration.milliseconds(Int.random(in: 1...jitter, using: &random))
                    flying.append((now + delay, 1 - end, octets))
                }
            }
            ends[end].outbox = []
        }
    }

    mutating func run(for duration: Duration) {
        let stop = now + duration
        flush()
        while true {
            let next = flying.indices.min { flying[$0].at < flying[$1].at }
            let times = [next.map { flying[$0].at } ?? .never, ends[0].nextDeadline(), ends[1].nextDeadline()]
            let instant = times.min()!
            guard instant <= stop else { break }
            now = max(now, instant)
            if let next, times[0] == instant {
                let packet = flying.remove(at: next)
                ends[packet.to].receive(packet.octets, at: now)
            } else {
                ends[times[1] == instant ? 0 : 1].fire(at: now)
            }
            flush()
        }
        now = stop
    }

    mutating func hangUp(_ end: Int) {
        ends[end].act(now) { $0.hangUp(source: SessionEndpoint.source, into: &$1) }
        flush()
    }

    func sent(_ end: Int, _ method: Method) -> [Message] {
        trace.filter { $0.end == end && $0.message.method == method }.map(\.message)
    }

    func sent(_ end: Int, status: Int) -> [Message] {
        trace.filter { $0.end == end && $0.message.status == status }.map(\.message)
    }
}

struct InviteSessionTests {
    var pair = CallPair()

    private mutating func connect() {
        pair.ends[0].place(at: pair.now)
        pair.run(for: .milliseconds(50))
    }

    private mutating func leaveNothing(_ comment: Comment = "left over") {
        pair.run(for: .seconds(80))
        #expect(pair.ends.allSatisfy { $0.layer.count == 0 && $0.session?.nextDeadline ?? .never == .never }, comment)
    }

    @Test mutating func plainCall() {
        connect()
        #expect(pair.ends[0].log == ["progress 180", "answered"] && pair.ends[1].log == ["confirmed"])
        pair.hangUp(0)
        pair.run(for: .milliseconds(50))
        #expect(pair.ends[0].log.last == "ended hungUp" && pair.ends[1].log.last == "ended remoteHungUp")
        #expect(pair.sent(1, status: 200).count == 2)
        leaveNothing()
    }

    // B066: no BYE back.
    @Test mutating func b066CalledSideHangsUp() {
        connect()
        pair.hangUp(1)
        pair.run(for: .seconds(1))
        #expect(pair.ends[0].log.last == "ended remoteHungUp" && pair.sent(0, .bye).isEmpty && pair.sent(1, .bye).count == 1)
        leaveNothing()
    }

    @Test mutating func byesCross() {
        connect()
        pair.hangUp(0)
        pair.hangUp(1)
        pair.run(for: .seconds(1))
        #expect(pair.sent(0, status: 200).count == 1 && pair.sent(1, status: 200).count == 2)
        leaveNothing()
    }

    // The 200 is repeated until the ACK; a called side that hung up meanwhile sends BYE only then.
    @Test mutating func missingAck() {
        pair.ends[0].place(at: pair.now)
        pair.flush()
        let invite = pair.trace[0].message
        pair.ends[1].receive(invite.octets, at: pair.now)
        pair.ends[1].outbox = []
        var other = self
        other.pair.hangUp(1)
        #expect(other.pair.sent(1, .bye).isEmpty)
        while pair.ends[1].nextDeadline() <= Instant.zero + .seconds(40) {
            pair.now = pair.ends[1].nextDeadline()
            pair.ends[1].fire(at: pair.now)
        }
        pair.trace = []
        pair.flush()
        #expect(pair.sent(1, status: 200).count == 10 && !pair.sent(1, .bye).isEmpty)
        #expect(pair.ends[1].log.contains("ended noACK"))
    }

    // B056: BYE instead of the ACK.
    @Test mutating func b056ByeBeforeAck() throws {
        pair.ends[0].place(at: pair.now)
        pair.flush()
        pair.ends[1].receive(pair.trace[0].message.octets, at: pair.now)
        let answer = try Message(parsing: pair.ends[1].outbox.last!)
        pair.ends[1].outbox = []
        var dialog = try Dialog(placing: OutgoingInvite(pair.trace[0].message), response: answer)
        let bye = dialog.request(.bye, end: pair.ends[0].end, branch: Array("z9hG4bKbye".utf8))
        pair.ends[1].receive(bye.octets, at: pair.now)
        #expect(try Message(parsing: pair.ends[1].outbox[0]).status == 200)
        #expect(pair.ends[1].log.last == "ended remoteHungUp" && pair.ends[1].session!.nextDeadline == .never)
    }

    @Test mutating func cancelWhileRinging() {
        pair.ends[1].answers = false
        connect()
        pair.hangUp(0)
        pair.run(for: .milliseconds(50))
        #expect(pair.ends[0].log == ["progress 180", "failed 487", "ended cancelled"])
        #expect(pair.ends[1].log == ["ended remoteCancelled"])
        #expect(pair.sent(0, .cancel).count == 1 && pair.sent(0, .ack).count == 1)
        leaveNothing()
    }

    // A CANCEL waits for a provisional response; without one nothing is cancelled and the INVITE times out.
    @Test mutating func cancelBeforeProvisional() {
        pair.ends[1].answers = false
        pair.ends[1].rings = false
        pair.ends[0].place(at: pair.now)
        pair.hangUp(0)
        pair.run(for: .milliseconds(100))
        #expect(pair.sent(0, .cancel).isEmpty)
        pair.run(for: .milliseconds(200))  // 100 Trying comes after 200 ms
        #expect(pair.sent(0, .cancel).count == 1 && pair.ends[0].log == ["failed 487", "ended cancelled"])
        leaveNothing()
    }

    // The 2xx is quicker than the CANCEL: ACK, then BYE; B064: the CANCEL has the INVITE's branch.
    @Test mutating func cancelRacesTheAnswer() throws {
        pair.ends[1].answers = false
        pair.jitter = 20
        connect()
        let now = pair.now
        pair.ends[1].act(now) { $0.answer(body: [80], source: SessionEndpoint.source, at: now, into: &$1) }
        pair.hangUp(0)
        pair.run(for: .seconds(1))
        #expect(pair.ends[0].log.last == "ended cancelled" && pair.ends[1].log.last == "ended remoteHungUp")
        #expect(pair.sent(0, .ack).count == 1 && pair.sent(0, .bye).count == 1)
        #expect(try pair.sent(0, .cancel)[0].topVia().branch.elementsEqual(pair.sent(0, .invite)[0].topVia().branch))
        leaveNothing()
    }

    // B055: a called side that gives up while ringing refuses the INVITE.
    @Test mutating func b055RefusalWhileRinging() {
        pair.ends[1].answers = false
        connect()
        pair.hangUp(1)
        pair.run(for: .seconds(1))
        #expect(pair.sent(1, .bye).isEmpty && pair.ends[0].log.last == "failed 480" && pair.ends[1].log == ["ended refused"])
        leaveNothing()
    }

    // B065: BYE, INFO and re-INVITE of an unknown dialog get 481.
    @Test(arguments: ["BYE", "INFO", "INVITE"]) mutating func b065UnknownDialog(method: String) throws {
        connect()
        pair.ends[1].receive(
            octets(
                "\(method) sip:x@h SIP/2.0", "Via: SIP/2.0/UDP h;branch=z9hG4bKu", "From: <sip:a@h>;tag=1", "To: <sip:x@h>;tag=2",
                "Call-ID: none",
                "CSeq: 1 \(method)"), at: pair.now)
        #expect(try Message(parsing: pair.ends[1].outbox[0]).status == 481)
    }

    @Test mutating func reinviteAndInfo() {
        connect()
        pair.ends[1].act(pair.now) {
            let isSent = $0.reinvite(body: [82], into: &$1); #expect(isSent)
        }
        pair.run(for: .milliseconds(50))
        #expect(pair.ends[0].log.suffix(2) == ["reinvited", "confirmed"] && pair.ends[1].log.last == "response 200 invite")
        pair.ends[0].act(pair.now) {
            let isSent = $0.send(.info, body: [53], type: "text/x", into: &$1); #expect(isSent)
        }
        pair.run(for: .milliseconds(50))
        #expect(pair.ends[1].log.last == "request INFO" && pair.ends[0].log.last == "response 200 info")
        pair.hangUp(0)
        leaveNothing()
    }

    // Both re-INVITE at once: both get 491 and a time to wait.
    @Test mutating func glare() {
        connect()
        for end in 0...1 { pair.ends[end].act(pair.now) { _ = $0.reinvite(body: [82], into: &$1) } }
        pair.run(for: .milliseconds(50))
        for end in 0...1 { #expect(pair.ends[end].log.last == "response 491 invite wait") }
        pair.ends[0].act(pair.now) {
            let isSent = $0.reinvite(body: [82], into: &$1); #expect(isSent)
        }
        pair.run(for: .milliseconds(50))
        #expect(pair.ends[0].log.last == "response 200 invite")
        pair.hangUp(1)
        leaveNothing()
    }

    // B051: the first 200 comes again while a re-INVITE is out: the first ACK again.
    @Test mutating func b051RepeatedAnswer() {
        connect()
        let answer = pair.sent(1, status: 200)[0]
        pair.ends[0].act(pair.now) { _ = $0.reinvite(body: [82], into: &$1) }
        pair.flush()
        pair.trace = []
        pair.ends[0].receive(answer.octets, at: pair.now)
        pair.flush()
        #expect(pair.sent(0, .ack).map(\.cSeq) == [1])
        pair.run(for: .milliseconds(50))
        #expect(pair.sent(0, .ack).map(\.cSeq) == [1, 2])
    }

    // A 2xx of another branch of a fork: ACK and BYE for it, the call goes on.
    @Test mutating func forkedAnswer() throws {
        connect()
        var writer = MessageWriter()
        writer.response(200, to: pair.trace[0].message, tag: [90], source: nil)
        writer.append("Contact: <sip:fork@h>\r\n")
        writer.finish()
        pair.trace = []
        pair.ends[0].receive(writer.octets, at: pair.now)
        pair.ends[0].receive(writer.octets, at: pair.now)
        pair.flush()
        #expect(pair.sent(0, .ack).count == 2 && pair.sent(0, .bye).count == 1)
        #expect(try pair.sent(0, .bye)[0].to().tag.map { text($0) } == "Z")
        #expect(pair.ends[0].session!.state == .confirmed)
    }

    @Test mutating func oldNumberGets500() throws {
        connect()
        var dialog = pair.ends[0].session!.dialog!
        dialog.localCSeq = 0
        let info = dialog.request(.info, end: pair.ends[0].end, branch: Array("z9hG4bKold".utf8))
        pair.ends[1].receive(info.octets, at: pair.now)
        #expect(try Message(parsing: pair.ends[1].outbox[0]).status == 500)
    }

    @Test mutating func peerVanishes() {
        connect()
        pair.loss = 1
        pair.ends[0].act(pair.now) { _ = $0.send(.options, into: &$1) }
        pair.run(for: .seconds(40))
        #expect(pair.ends[0].log.suffix(2) == ["no response options", "ended dialogLost"])
    }

    /// Calls over a network with loss, delay and repetition: each side ends once, and nothing is left.
    @Test(arguments: 1...60) mutating func lossyCalls(seed: Int) {
        pair = CallPair(seed: UInt64(seed))
        pair.loss = 0.15
        pair.jitter = 200
        pair.ends[1].answers = seed % 3 != 0
        pair.ends[0].place(at: pair.now)
        pair.run(for: .milliseconds(100 * (seed % 40)))
        if seed % 4 == 1, pair.ends[0].session?.state == .confirmed {
            pair.ends[0].act(pair.now) { _ = $0.reinvite(body: [82], into: &$1) }
            pair.run(for: .milliseconds(300))
        }
        pair.hangUp(pair.ends[1].session == nil ? 0 : seed % 2)
        pair.run(for: .seconds(200))
        leaveNothing("seed \(seed)")
        for end in 0...1 {
            let ended = pair.ends[end].log.count { $0.hasPrefix("ended") }
            #expect(ended <= 1, "seed \(seed) \(pair.ends[end].log)")
            let state = pair.ends[end].session?.state
            #expect(state == nil || state == .ended, "seed \(seed) \(pair.ends.map(\.log))")
        }
    }
}
