// Offers before the answer (RFC 3311, RFC 6337): by UPDATE, once PRACK has acknowledged what the INVITE began.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct EarlyOfferTests {
    /// What a flow came to: its words in order.
    private final class Notes { var lines: [String] = [] }

    /// Holds and takes back, and notes what became of it.
    private func hold(_ call: Call, _ notes: Notes, thenUnhold: Bool = false) async {
        do {
            try await call.hold(music: nil)
            notes.lines.append("held")
            if thenUnhold {
                try await call.unhold()
                notes.lines.append("resumed")
            }
        } catch CallControlError.refused(_, let status, _) {
            notes.lines.append("\(status)")
        } catch {
            notes.lines.append("\(error)")
        }
    }

    private func direction(_ message: Message) -> String? {
        text(message.body).split(whereSeparator: \.isNewline).map(String.init).first {
            $0.hasPrefix("a=send") || $0.hasPrefix("a=inactive")
        }
    }

    // MARK: The caller is held

    /// An engine that sends early media and holds, called by a peer with these rows. `answer` is what UPDATEs get.
    private func called(
        _ seed: UInt64, rows: String = "Require: 100rel\r\nAllow: INVITE, ACK, BYE, CANCEL, PRACK, UPDATE\r\n",
        thenUnhold: Bool = false, answer: @escaping (SIPPeer, Message) -> SIPPeer.Answer?
    ) throws -> (VirtualWorld, Call, SIPPeer, Notes) {
        let world = VirtualWorld(seed: seed)
        let notes = Notes()
        var taken: Call?
        _ = try world.engine(at: "192.0.2.1") { call in
            taken = call
            call.loop.spawn {
                try? call.progress()
                await self.hold(call, notes, thenUnhold: thenUnhold)
                try? await call.answer()
            }
        }
        let peer = try SIPPeer(world, "192.0.2.9")
        peer.answer = { [unowned peer] in answer(peer, $0) }
        // Nothing final comes yet.
        #expect(
            peer.request("INVITE", "Content-Type: application/sdp\r\n" + rows, body: peer.description) == nil
                || !rows.contains("Require"))
        return (world, try #require(taken), peer, notes)
    }

    private func acknowledgeEarlyMedia(_ peer: SIPPeer) throws -> Message {
        let early = try #require(peer.responses.last { $0.status == 183 })
        let row = "RAck: \(early.number(.rSeq) ?? 0) \(early.cSeq) INVITE\r\n"
        #expect(peer.request("PRACK", row, within: early)?.status == 200)
        return early
    }

    private func finish(_ world: VirtualWorld, _ peer: SIPPeer, _ within: Message) throws {
        world.loop.run(for: .seconds(1))
        let answer = try #require(peer.responses.last { $0.status == 200 && $0.cSeqMethod == .invite })
        peer.acknowledge(answer)
        #expect(peer.request("BYE", within: answer)?.status == 200)
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func aCallerIsHeldBeforeTheAnswer() throws {
        let (world, call, peer, notes) = try called(1, thenUnhold: true) { peer, request in
            .init(status: 200, body: peer.description + (direction(request) == "a=sendonly" ? "a=recvonly\r\n" : ""))
        }
        #expect(notes.lines == [] && peer.count(.update) == 0, "nothing before the PRACK")
        let early = try acknowledgeEarlyMedia(peer)
        #expect(early.lists(.allow, "update"), "so that the caller may send one too")
        world.loop.run(for: .seconds(1))
        #expect(notes.lines == ["held", "resumed"])
        let updates = peer.requests.filter { $0.method == .update }
        #expect(updates.map(direction) == ["a=sendonly", "a=sendrecv"])
        #expect(updates.allSatisfy { !$0.has(.sessionExpires) && $0.has(.contact) })
        let answer = try #require(peer.responses.last { $0.status == 200 && $0.cSeqMethod == .invite })
        #expect(answer.body.isEmpty, "a description in it would be that of before")
        #expect(call.state == .answered && !call.isHeldByUs)
        try finish(world, peer, early)
    }

    @Test func whoIsHeldBeforeTheAnswerStaysSo() throws {
        let (world, call, peer, notes) = try called(2) { peer, _ in .init(status: 200, body: peer.description + "a=recvonly\r\n")
        }
        let early = try acknowledgeEarlyMedia(peer)
        world.loop.run(for: .seconds(1))
        #expect(notes.lines == ["held"] && call.state == .answered && call.isHeldByUs)
        try finish(world, peer, early)
    }

    @Test(arguments: [("Retry-After: 1\r\n", 500), ("", 491)]) func glareIsTriedAgain(rows: String, status: Int) throws {
        let refused = Locked(0)
        let (world, call, peer, notes) = try called(3) { peer, _ in
            if refused.withLock({
                $0 += 1; return $0
            }) == 1 {
                return .init(status: status, rows: rows)
            }
            return .init(status: 200, body: peer.description + "a=recvonly\r\n")
        }
        let early = try acknowledgeEarlyMedia(peer)
        world.loop.run(for: .seconds(5))
        #expect(notes.lines == ["held"] && call.isHeldByUs && peer.count(.update) == 2)
        try finish(world, peer, early)
    }

    @Test(arguments: [488, 500, 481]) func aRefusalChangesNothing(status: Int) throws {
        let (world, call, peer, notes) = try called(4) { _, _ in .init(status: status) }
        let early = try acknowledgeEarlyMedia(peer)
        world.loop.run(for: .seconds(5))
        #expect(notes.lines == ["\(status)"] && peer.count(.update) == 1)
        #expect(call.state == .answered && !call.isHeldByUs, "the INVITE is answered all the same")
        try finish(world, peer, early)
    }

    @Test func anUPDATEWithoutResponseChangesNothing() throws {
        let (world, call, peer, notes) = try called(5) { _, request in request.method == .update ? nil : .init(status: 200) }
        let early = try acknowledgeEarlyMedia(peer)
        world.loop.run(for: .seconds(40))
        #expect(notes.lines == ["408"] && call.state == .answered)
        try finish(world, peer, early)
    }

    @Test func anAnswerThatCannotBeUsedChangesNothing() throws {
        let (world, call, peer, notes) = try called(6) { _, _ in .init(status: 200) }
        let early = try acknowledgeEarlyMedia(peer)
        world.loop.run(for: .seconds(1))
        #expect(notes.lines == ["488"] && !call.isHeldByUs)
        try finish(world, peer, early)
    }

    @Test(arguments: ["", "Allow: UPDATE\r\n", "Require: 100rel\r\nAllow: PRACK\r\n"]) func whoTakesNoneGetsNone(rows: String)
        throws
    {
        let (world, call, peer, notes) = try called(7, rows: rows) { _, _ in .init(status: 200) }
        #expect(notes.lines.count == 1 && notes.lines[0].contains("takes no UPDATE"), "\(notes.lines)")
        var within = try #require(peer.responses.last { $0.status == 183 })
        if rows.contains("Require") { within = try acknowledgeEarlyMedia(peer) }
        #expect(peer.count(.update) == 0 && call.state == .answered)
        try finish(world, peer, within)
    }

    /// Both offer at the same time: each refuses the other's (RFC 3311 section 5.2).
    @Test func offersThatMeetAreRefused() throws {
        // The answer to ours waits for theirs.
        let theirsCame = Locked(false)
        let (world, _, peer, notes) = try called(8) { peer, request in
            if request.method == .update, !theirsCame.withLock({ $0 }) { return nil }
            return .init(status: 200, body: peer.description + "a=recvonly\r\n")
        }
        let early = try acknowledgeEarlyMedia(peer)
        #expect(peer.count(.update) >= 1)
        let met = peer.request("UPDATE", "Content-Type: application/sdp\r\n", body: peer.description, within: early)
        #expect(met?.status == 491)
        theirsCame.withLock { $0 = true }
        world.loop.run(for: .seconds(5))
        #expect(notes.lines == ["held"])
        try finish(world, peer, early)
    }

    // MARK: The callee is held

    /// A peer that is called: it sends early media reliably, and answers when it is told to.
    private final class Callee {
        let peer: SIPPeer
        let world: VirtualWorld
        var updates: [SIPPeer.Answer] = []
        private(set) var invite: Message?

        init(_ world: VirtualWorld, allow: String = "INVITE, ACK, BYE, CANCEL, PRACK, UPDATE") throws {
            self.world = world
            peer = try SIPPeer(world, "192.0.2.9")
            peer.answer = { [unowned self] request in
                switch request.method {
                case .invite:
                    invite = request
                    respond(183, "Require: 100rel\r\nRSeq: 7\r\nAllow: \(allow)\r\n", body: peer.description)
                    return nil
                case .update: return updates.isEmpty ? nil : updates.removeFirst()
                default: return .init(status: 200)
                }
            }
        }

        func respond(_ status: Int, _ rows: String = "", body: String = "", tag: String = "raw") {
            guard let invite else { return }
            var writer = MessageWriter()
            writer.response(status, to: invite, tag: Array(tag.utf8)[...], source: SocketAddress("192.0.2.1:5060")!)
            writer.append(Array("Contact: <sip:raw@192.0.2.9>\r\n\(rows)".utf8))
            writer.finish(body: Array(body.utf8), type: body.isEmpty ? "" : "application/sdp")
            peer.send(writer.octets)
        }
    }

    @Test func aCalleeIsHeldBeforeItAnswers() throws {
        let world = VirtualWorld(seed: 20)
        let callee = try Callee(world)
        callee.updates = [.init(status: 200, body: callee.peer.description + "a=recvonly\r\n")]
        let call = try world.engine(at: "192.0.2.1").shard(0).place(CallRequest(target: "sip:raw@192.0.2.9"))
        let notes = Notes()
        call.loop.spawn {
            _ = try? await call.wait(for: .earlyMedia, timeout: nil)
            await self.hold(call, notes)
        }
        world.loop.run(for: .seconds(2))
        #expect(notes.lines == ["held"] && call.state == .early)
        let update = try #require(callee.peer.requests.first { $0.method == .update })
        let prack = try #require(callee.peer.requests.first { $0.method == .prack })
        #expect(direction(update) == "a=sendonly" && update.cSeq == prack.cSeq + 1)
        // The 200 repeats what the 183 said: that is over.
        callee.respond(200, body: callee.peer.description)
        world.loop.run(for: .seconds(1))
        #expect(call.state == .answered && call.isHeldByUs && call.info.media.received == 0)
        callee.updates = []
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        callee.peer.close()
        #expect(world.finish() == [])
    }

    @Test func aForkThatAnswersInsteadIsNotHeld() throws {
        let world = VirtualWorld(seed: 21)
        let callee = try Callee(world)
        callee.updates = [.init(status: 200, body: callee.peer.description + "a=recvonly\r\n")]
        let call = try world.engine(at: "192.0.2.1").shard(0).place(CallRequest(target: "sip:raw@192.0.2.9"))
        let notes = Notes()
        call.loop.spawn {
            _ = try? await call.wait(for: .earlyMedia, timeout: nil)
            await self.hold(call, notes)
        }
        world.loop.run(for: .seconds(2))
        #expect(notes.lines == ["held"])
        callee.respond(200, body: callee.peer.description, tag: "other")
        world.loop.run(for: .seconds(1))
        #expect(call.state == .answered && !call.isHeldByUs)
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        callee.peer.close()
        #expect(world.finish() == [])
    }

    @Test func aCalleeThatTakesNoneGetsNone() throws {
        let world = VirtualWorld(seed: 22)
        let callee = try Callee(world, allow: "INVITE, ACK")
        let call = try world.engine(at: "192.0.2.1").shard(0).place(CallRequest(target: "sip:raw@192.0.2.9"))
        let notes = Notes()
        call.loop.spawn {
            _ = try? await call.wait(for: .earlyMedia, timeout: nil)
            await self.hold(call, notes)
        }
        world.loop.run(for: .seconds(2))
        #expect(notes.lines.count == 1 && notes.lines[0].contains("takes no UPDATE"))
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        callee.respond(487)
        world.loop.run(for: .seconds(1))
        callee.peer.close()
        #expect(world.finish() == [])
    }
}
