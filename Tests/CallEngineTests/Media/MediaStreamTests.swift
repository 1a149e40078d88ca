// The stream as a bare peer sees it on the wire: continuity, hold, latch, timeout, RTCP.

import Audio
import Basics
import CallEngine
import RTP
import Reactor
import SDP
import Testing

@Suite struct MediaStreamTests {
    @Test func nothingIsSentBeforeOurAnswerIsOnItsWay() throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left)
        _ = try session.answer(peer.description())
        world.run(.seconds(1))
        #expect(peer.packets.isEmpty && session.isReady)
        session.start()
        world.run(.seconds(1))
        // Silence begins one to two packet times after the start.
        #expect((48...49).contains(peer.packets.count))
        peer.close()
        world.end()
    }

    @Test func whatPlaysBeginsAtOnceAndSilenceAPacketTimeLater() throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        func firstPacket(plays: Bool, for time: Duration) throws -> Duration? {
            peer.forget()
            let session = try world.session(world.left)
            _ = try session.answer(peer.description())
            let begin = world.loop.now
            session.start()
            if plays { _ = session.play(PlaybackRequest([.tone(frequencies: [440], cadence: [])])) }
            world.run(time)
            session.close()
            world.run(.seconds(1))
            return peer.packets.first.map { $0.at - begin }
        }
        let reports = world.left.counters.reportsSent
        #expect(try firstPacket(plays: false, for: .milliseconds(18)) == nil)
        #expect(world.left.counters.reportsSent == reports && world.loop.pendingTimers == 0)
        let silence = try #require(try firstPacket(plays: false, for: .milliseconds(60)))
        #expect(silence >= .milliseconds(18) && silence <= .milliseconds(40))
        let sound = try #require(try firstPacket(plays: true, for: .milliseconds(60)))
        #expect(sound <= .milliseconds(20))
        peer.close()
        world.end()
    }

    @Test func theStreamGoesOnBetweenPrompts() throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left)
        _ = try session.answer(peer.description())
        session.start()
        world.run(.milliseconds(300))
        let first = session.play(
            PlaybackRequest(
                [.tone(frequencies: [440], cadence: [.milliseconds(200)]), .silence(.milliseconds(100))], loop: .times(2)))
        world.run(.seconds(1))
        let second = session.play(PlaybackRequest([.file(path: prompt("goodbye.wav"))]))
        world.run(.seconds(5))
        #expect(first.end == .finished && second.end == .finished)
        #expect(first.played == .milliseconds(600))
        #expect(peer.packets.count > 300)
        for (one, next) in zip(peer.packets, peer.packets.dropFirst()) {
            #expect(next.sequence == one.sequence &+ 1 && next.timestamp == one.timestamp &+ 160)
            #expect(next.at - one.at == .milliseconds(20))
            #expect(next.ssrc == one.ssrc && !next.marker)
        }
        #expect(peer.packets[0].marker)
        // 300 ms of idling, then the tone, pause, tone, pause.
        let sounds = peer.packets.prefix(50).map { $0.isSilence ? "." : "#" }.joined()
        let begin = sounds.firstIndex(of: "#") ?? sounds.startIndex
        #expect(sounds[begin...].prefix(30) == "##########.....##########.....")
        peer.close()
        world.end()
    }

    @Test(arguments: [10, 30, 40, 60]) func theirPacketTimeIsKept(ptime: Int) throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left)
        _ = try session.answer(peer.description(ptime: ptime))
        session.start()
        _ = session.play(PlaybackRequest([.file(path: prompt("welcome.wav"))]))
        world.run(.seconds(3))
        #expect(abs(peer.packets.count - 3000 / ptime) <= 1)
        #expect(peer.packets.allSatisfy { $0.payload.count == 8 * ptime })
        peer.close()
        world.end()
    }

    @Test func aPlaybackStopsBeforeTheNextPacket() throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let (session, target) = try world.answering(peer.description())
        for round in 0..<40 {
            let playback = session.play(PlaybackRequest([.tone(frequencies: [440], cadence: [])]))
            // Every phase of the tick.
            world.run(.milliseconds(200) + .microseconds(500 * round))
            _ = session.digits.read { event in if event.phase == .began { playback.stop() } }
            peer.forget()
            let pressed = world.loop.now
            var payload = [UInt8](repeating: 0, count: 4)
            payload.withUnsafeMutableBytes { TelephoneEventPayload(code: 5, isEnd: false, duration: 160).write(to: $0) }
            peer.send(
                peer.sender.header(payloadType: 101, marker: true, timestamp: peer.sender.timestamp, octets: 4), payload,
                to: target)
            peer.sender.advance(by: 160)
            world.run(.milliseconds(200))
            session.digits.stopReading()
            #expect(playback.end == .stopped)
            let last = peer.packets.last { !$0.isSilence }
            #expect((last?.at ?? pressed) - pressed <= .milliseconds(40))
            // RTP itself goes on.
            #expect(peer.packets.count >= 9)
        }
        peer.close()
        world.end()
    }

    @Test func rtpGoesWhereItComesFrom() throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let other = try RawPeer(world.loop, ip: IPAddress("10.0.0.77")!, port: 7000)
        let (session, target) = try world.answering(peer.description())
        world.run(.milliseconds(500))
        #expect((23...24).contains(peer.packets.count) && other.packets.isEmpty)
        let sound = [UInt8](repeating: 0x12, count: 160)
        for _ in 0..<2 {
            other.send(sound, to: target)
            world.run(.milliseconds(20))
        }
        #expect(other.packets.isEmpty, "two packets are not enough")
        other.send(sound, to: target)
        world.run(.milliseconds(200))
        #expect(other.packets.count >= 9)
        let before = peer.packets.count
        // Fixed: the signaled address cannot take it back, and counts for nothing.
        for _ in 0..<10 {
            peer.send(sound, to: target)
            world.run(.milliseconds(20))
        }
        #expect(peer.packets.count == before && session.report.received == 1)
        peer.close()
        other.close()
        world.end()
    }

    /// B003: old-style hold, and resumption at the same address; and hold by direction.
    @Test(arguments: ["0.0.0.0", "sendonly", "inactive"]) func aHeldSideSendsNothing(way: String) throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left) { $0.rtpTimeout = .seconds(10) }
        var timeouts = 0
        world.listen(to: session, MediaEars(onTimeout: { timeouts += 1 }))
        _ = try session.answer(peer.description())
        session.start()
        world.run(.seconds(1))
        #expect(!peer.packets.isEmpty && !session.isHeldByRemote)
        let held =
            way == "0.0.0.0"
            ? peer.description(ip: "0.0.0.0", version: 2) : peer.description(direction: way, version: 2)
        let answer = String(decoding: try session.answer(held), as: UTF8.self)
        #expect(answer.contains("c=IN IP4 10.0.0.1") && session.isHeldByRemote)
        peer.forget()
        world.run(.seconds(30))
        #expect(peer.packets.isEmpty && timeouts == 0)
        _ = try session.answer(peer.description(version: 3))
        #expect(!session.isHeldByRemote)
        world.run(.seconds(1))
        #expect(peer.packets.count == 50)
        #expect(zip(peer.packets, peer.packets.dropFirst()).allSatisfy { $1.sequence == $0.sequence &+ 1 })
        world.run(.seconds(10))
        #expect(timeouts == 1)
        peer.close()
        world.end()
    }

    @Test("a session that is refreshed all the time ends all the same where no media comes; a new address gets its time")
    func refreshed() throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left) { $0.rtpTimeout = .seconds(10) }
        var timeouts: [Double] = []
        let start = world.loop.now
        world.listen(to: session, MediaEars(onTimeout: { timeouts.append((world.loop.now - start).milliseconds / 1000) }))
        _ = try session.answer(peer.description())
        session.start()
        for turn in 1...3 {
            world.run(.seconds(4))
            _ = try session.answer(peer.description(version: 1 + turn))
        }
        #expect(timeouts.count == 1 && abs((timeouts.first ?? 0) - 10) < 0.1, "\(timeouts)")
        // At 12 s it was refreshed, at 16 s it moves.
        world.run(.seconds(4))
        _ = try session.answer(peer.description(port: 4002, version: 5))
        world.run(.seconds(9))
        #expect(timeouts.count == 1, "\(timeouts)")
        world.run(.seconds(2))
        #expect(timeouts.count == 2, "\(timeouts)")
        peer.close()
        world.end()
    }

    @Test func weHoldAndResume() throws {
        let world = MediaWorld()
        let (left, right) = try world.pair()
        world.run(.seconds(1))
        left.wantedDirection = .sendonly
        try MediaWorld.agree(left, right)
        #expect(right.isHeldByRemote && !left.isHeldByRemote)
        let before = left.report.received
        world.run(.seconds(1))
        #expect(left.report.received <= before + 2)
        #expect(right.report.received > 90, "the held side hears music or silence")
        left.wantedDirection = .sendrecv
        try MediaWorld.agree(left, right)
        world.run(.seconds(1))
        #expect(!right.isHeldByRemote && left.report.received >= before + 49)
        #expect(left.report.lost == 0)
        world.end()
    }

    @Test func silenceOfTheNetworkIsToldEachTime() throws {
        let world = MediaWorld()
        let (left, right) = try world.pair { $0.rtpTimeout = .seconds(20) }
        var told: [Instant] = []
        world.listen(to: left, MediaEars(onTimeout: { told.append(world.loop.now) }))
        world.run(.seconds(60))
        #expect(told.isEmpty)
        world.network.partition(MediaWorld.rightIP)
        let cut = world.loop.now
        world.run(.seconds(50))
        #expect(told.count == 2)
        #expect(told[0] - cut >= .seconds(19) && told[0] - cut <= .milliseconds(20_100))
        _ = right
        world.end()
    }

    @Test func rtcpTellsTheRoundTripAndTheEnd() throws {
        let world = MediaWorld()
        world.network.impairment.delay = .milliseconds(50)
        let (left, right) = try world.pair()
        var first: Instant?
        world.listen(to: right, MediaEars(onFirstPacket: { first = world.loop.now }))
        world.run(.seconds(30))
        for session in [left, right] {
            let trip = try #require(session.report.roundTrip)
            #expect(abs((trip - .milliseconds(100)).milliseconds) < 1, "\(trip)")
        }
        #expect(try #require(first) < .zero + .milliseconds(100))
        #expect(world.left.counters.reportsSent >= 5 && world.left.counters.reportsReceived >= 5)
        let before = world.right.counters.reportsReceived
        left.close()
        // It is read before the next report.
        world.run(.seconds(8))
        #expect(world.right.counters.reportsReceived == before + 1)
        world.end()
    }

    @Test func errorsHaveTheirStatus() throws {
        let world = MediaWorld()
        let session = try world.session(world.left)
        let peer = try RawPeer(world.loop)
        func error(_ offer: ArraySlice<UInt8>) -> MediaError? {
            do throws(MediaError) {
                _ = try session.answer(offer)
                return nil
            } catch { return error }
        }
        #expect(error(Array("nonsense".utf8)[...])?.status == 400)
        #expect(error(peer.description(formats: "18 101")) == .noCommonCodec)
        #expect(error(peer.description(formats: "101")) == .noCommonCodec)
        #expect(error(peer.description(port: 0))?.status == 488)
        _ = session.makeOffer()
        #expect(error(peer.description())?.status == 491)
        session.offerFailed()
        #expect(error(peer.description()) == nil)
        #expect(throws: MediaError.noCommonCodec) { _ = try world.session(world.left, codecs: ["gsm"]) }
        peer.close()
        world.end()
    }

    @Test func rubbishIsCountedAndHarmless() throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let (_, target) = try world.answering(peer.description())
        var random = SeededRandom(seed: 5)
        for length in 0..<400 {
            let bytes = (0..<length % 64).map { _ in UInt8.random(in: 0...255, using: &random) }
            bytes.withUnsafeBytes { _ = peer.socket.sendNow($0, to: target) }
            bytes.withUnsafeBytes { _ = peer.socket.sendNow($0, to: SocketAddress(ip: target.ip, port: target.port + 1)) }
        }
        peer.send([1, 2, 3], type: 77, to: target)
        peer.send([], type: 0, to: target)
        peer.send([UInt8](repeating: 1, count: 8000), type: 0, to: target)
        world.run(.seconds(1))
        #expect(world.left.counters.droppedMalformed > 300)
        #expect(world.left.counters.droppedUnknownPayload >= 1)
        peer.close()
        world.end()
    }
}
