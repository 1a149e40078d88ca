// Reports of what went wrong for others (their ids are those of ../shared/facts/field-reports.md), on whole engines; what concerns messages and
// sessions alone is in SIPTests. The last test says that none of those about signaling and offer/answer is forgotten.

import Basics
import CallEngine
import Foundation
import Reactor
import SIP
import TestKit
import Testing

@Suite struct FieldReportCallTests {
    private func answering(_ world: VirtualWorld) throws -> Engine {
        try world.engine(at: "192.0.2.1") { call in call.loop.spawn { try? await call.answer() } }
    }

    private let sdp = "Content-Type: application/sdp\r\n"

    // A call of ours that a peer answers with the refresh left to us.
    private func refreshing(
        _ world: VirtualWorld, allow: String = "", then: @escaping (Message) -> SIPPeer.Answer?
    ) throws -> (Call, SIPPeer) {
        let peer = try SIPPeer(world, "192.0.2.1")
        peer.answer = { [unowned peer] request in
            guard request.method == .invite, request.isOutsideDialog else {
                return request.method == .bye ? .init(status: 200) : then(request)
            }
            return .init(
                status: 200, rows: "\(allow)Require: timer\r\nSession-Expires: 90;refresher=uac\r\n", body: peer.description)
        }
        let caller = try world.engine(at: "192.0.2.2") {
            $0.sessionTimer = .init(interval: 120)
            $0.rtpTimeout = .zero
        }
        return (try caller.shard(0).place(CallRequest(target: "sip:raw@192.0.2.1")), peer)
    }

    @Test(arguments: ["", "Allow: INVITE, ACK, BYE, UPDATE\r\n"])
    func b079ARefreshWithoutAnAnswerEndsTheCall(allow: String) throws {
        let world = VirtualWorld(seed: 151)
        let (call, peer) = try refreshing(world, allow: allow) { _ in nil }
        world.loop.run(for: .seconds(44))
        #expect(call.state == .answered && peer.count(.bye) == 0)
        world.loop.run(for: .seconds(47))
        #expect(call.state.isEnded && peer.count(.bye) == 1, "the BYE comes before the session's end at 90 s")
        peer.close()
        #expect(world.finish() == [])
    }

    @Test(arguments: [488, 500]) func b012ARefusedRefreshLeavesTheCall(status: Int) throws {
        let world = VirtualWorld(seed: 152)
        var refusals = 0
        let (call, peer) = try refreshing(world) { _ in
            refusals += 1
            return .init(status: status)
        }
        // It is tried again; nobody hangs up before the session's end draws near.
        world.loop.run(for: .seconds(58))
        #expect(call.state == .answered && refusals > 1 && peer.count(.bye) == 0)
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func b077TheRefresherRefreshesInTime() throws {
        let world = VirtualWorld(seed: 153)
        let (call, peer) = try refreshing(world, allow: "Allow: UPDATE\r\n") { _ in
            .init(status: 200, rows: "Require: timer\r\nSession-Expires: 90;refresher=uac\r\n")
        }
        world.loop.run(for: .seconds(50))
        #expect(peer.count(.update) == 1)
        world.loop.run(for: .seconds(950))
        #expect(call.state == .answered && (20...22).contains(peer.count(.update)))
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func b092ABodyThatIsNoDescriptionIsNotReadAsOne() throws {
        let world = VirtualWorld(seed: 154)
        _ = try answering(world)
        let peer = try SIPPeer(world, "192.0.2.2")
        let refused = peer.request("INVITE", "Content-Type: application/rs-metadata+xml\r\n", body: "<recording/>")
        #expect(refused?.status == 415 && refused?.tokens(.accept).first == "application/sdp")
        // One that may be skipped leaves an INVITE without an offer.
        let answer = try #require(
            peer.request(
                "INVITE", "Content-Type: application/rs-metadata+xml\r\nContent-Disposition: x;handling=optional\r\n",
                body: "<r/>"))
        #expect(answer.status == 200 && answer.hasBody(ofType: "application/sdp"))
        peer.acknowledge(answer)
        world.loop.run(for: .seconds(1))
        #expect(peer.count(.bye) == 1, "the ACK has no answer to our offer: B007")
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func b065RequestsOfNoDialogGet481() throws {
        let world = VirtualWorld(seed: 155)
        _ = try answering(world)
        let peer = try SIPPeer(world, "192.0.2.2")
        for method in ["BYE", "INFO", "INVITE", "UPDATE", "REFER", "SUBSCRIBE", "MESSAGE"] {
            #expect(peer.request(method, to: "<sip:bot@192.0.2.1>;tag=none")?.status == 481, "\(method)")
        }
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func b038b039b041INFOInACall() throws {
        let world = VirtualWorld(seed: 156)
        var keys: DigitInbox?
        _ = try world.engine(at: "192.0.2.1") { call in
            keys = call.digits
            call.loop.spawn { try? await call.answer() }
        }
        let peer = try SIPPeer(world, "192.0.2.2")
        let answer = try #require(peer.request("INVITE", sdp, body: peer.description))
        peer.acknowledge(answer)
        func info(_ type: String, _ body: String) -> Int? {
            peer.request("INFO", type.isEmpty ? "" : "Content-Type: \(type)\r\n", body: body, within: answer)?.status
        }
        #expect(info("application/dtmf-relay", "Signal=5\r\nDuration=160\r\nX=1\r\nY=2\r\n") == 200)
        #expect(info("application/dtmf-relay", "Signal=6\r\nDuration=160") == 200)
        #expect(info("application/dtmf-relay", "Signal=7\nDuration=160\n") == 200)
        #expect(info("application/dtmf-relay", "Signal=16\r\nDuration=160\r\n") == 200, "a flash")
        #expect(info("application/dtmf", "!") == 200)
        #expect(info("", "") == 200, "a sign of life")
        #expect(info("application/media_control+xml", "<x/>") == 415)
        #expect(peer.request("INFO", "Info-Package: nothing\r\n", within: answer)?.status == 469)
        #expect(keys?.history == "567!!")
        #expect(peer.request("BYE", within: answer)?.status == 200)
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func b089b094NumbersAsTheyAreDialled() throws {
        let world = VirtualWorld(seed: 157)
        var dialled: [String] = []
        _ = try world.engine(at: "192.0.2.1") { call in
            dialled.append(call.info.to.user)
            try? call.reject(status: 486, reason: nil, headers: [])
        }
        let peer = try SIPPeer(world, "192.0.2.2")
        for uri in ["sip:#123@192.0.2.1", "tel:+15550100", "sip:7042;phone-context=example.com@192.0.2.1;user=phone"] {
            #expect(peer.request("INVITE", sdp, body: peer.description, uri: uri, to: "<tel:+15550100>")?.status == 486)
        }
        #expect(dialled == ["#123", "+15550100", "7042"])
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func b055AFlowThatEndsBeforeTheAnswerRefuses() throws {
        let world = VirtualWorld(seed: 158)
        _ = try world.engine(at: "192.0.2.1") { call in
            try? call.ring()
            call.loop.schedule(after: .milliseconds(300)) { call.hangUp(.normal) }
        }
        let peer = try SIPPeer(world, "192.0.2.2")
        #expect(peer.request("INVITE", sdp, body: peer.description)?.status == 480)
        #expect(peer.count(.bye) == 0)
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func b100AMessageOverWebSocketNeedsNoLength() throws {
        final class Channel: MessageChannel {
            var sent: [String] = []
            func send(_ message: [UInt8]) -> Bool {
                sent.append(String(decoding: message, as: UTF8.self))
                return true
            }
            func close() {}
        }
        let world = VirtualWorld(seed: 159)
        let server = try world.engine(
            at: "192.0.2.1", settings: { $0.listeners.append(.init(.ws, SocketAddress("192.0.2.1:8080")!)) },
            onIncoming: { call in try? call.reject(status: 486, reason: nil, headers: []) })
        let channel = Channel()
        let events = server.front.onLoop.accept(channel, over: .ws, from: IPAddress("192.0.2.2")!)
        let invite =
            "INVITE sip:bot@192.0.2.1 SIP/2.0\r\nVia: SIP/2.0/WS x.invalid;branch=z9hG4bKw\r\nMax-Forwards: 70\r\n"
            + "From: <sip:w@x.invalid>;tag=1\r\nTo: <sip:bot@192.0.2.1>\r\nCall-ID: w\r\nCSeq: 1 INVITE\r\n"
            + "Contact: <sip:w@x.invalid;transport=ws>\r\nContent-Type: application/sdp\r\n\r\n"
            + "v=0\r\no=- 1 1 IN IP4 192.0.2.2\r\ns=-\r\nc=IN IP4 192.0.2.2\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n"
        events.received(Array(invite.utf8))
        world.loop.run(for: .seconds(1))
        #expect(channel.sent.contains { $0.hasPrefix("SIP/2.0 486") }, "\(channel.sent)")
        events.received(
            Array(
                "ACK sip:bot@192.0.2.1 SIP/2.0\r\nVia: SIP/2.0/WS x.invalid;branch=z9hG4bKw\r\nFrom: <sip:w@x.invalid>;tag=1\r\nTo: <sip:bot@192.0.2.1>;tag=x\r\nCall-ID: w\r\nCSeq: 1 ACK\r\n\r\n"
                    .utf8))
        #expect(world.finish() == [])
    }

    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let reports = tests.deletingLastPathComponent().appendingPathComponent("../shared/facts/field-reports.md")
        .standardizedFileURL

    /// Those of offer/answer, transactions and dialogs, 100rel, timers and digest, parsing and framing, WebSocket.
    @Test(
        .enabled(
            if: FileManager.default.fileExists(atPath: reports.path), "skipped: ../shared/facts/field-reports.md is absent"))
    func noReportOfSignalingIsForgotten() throws {
        let text = try String(contentsOf: Self.reports, encoding: .utf8)
        var ids: Set<String> = []
        for part in text.components(separatedBy: "\n## ").dropFirst() {
            guard let number = Int(part.prefix { $0 != "." }), [1, 4, 5, 6, 7].contains(number) else { continue }
            for line in part.split(separator: "\n") where line.hasPrefix("| B") {
                ids.insert(String(line.dropFirst(2).prefix(4)))
            }
        }
        #expect(ids.count >= 40)
        let files =
            FileManager.default.enumerator(at: Self.tests, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        for file in files where file.pathExtension == "swift" {
            let source = try String(contentsOf: file, encoding: .utf8).uppercased()
            ids = ids.filter { !source.contains($0) }
        }
        #expect(ids.sorted() == [], "no test has these names")
    }
}
