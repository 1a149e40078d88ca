// Keys: once each, whatever the network does and however many ways they come by.

import Audio
import Basics
import CallEngine
import RTP
import Reactor
import Testing

@Suite struct MediaDigitTests {
    private static let keys = "0123456789*#ABCD!5511"

    private func send(_ keys: String, _ session: MediaSession, _ options: SendDigitsOptions, _ world: MediaWorld) {
        var failure: (any Error)?
        var isDone = false
        world.loop.spawn {
            do { try await session.sendDigits(keys, options: options) } catch { failure = error }
            isDone = true
        }
        world.run(.seconds(20))
        #expect(isDone && failure == nil)
    }

    @Test(arguments: UInt64(1)...8) func eventsArriveOnceUnderLoss(seed: UInt64) throws {
        let world = MediaWorld(seed: seed)
        world.network.impairment.loss = 0.1
        world.network.impairment.duplication = 0.1
        world.network.impairment.reordering = 0.05
        world.network.impairment.jitter = .milliseconds(60)
        let (left, right) = try world.pair()
        send(Self.keys, left, SendDigitsOptions(), world)
        #expect(right.digits.history == Self.keys, "seed \(seed)")
        let phases = right.digits.waiting.map(\.phase)
        #expect(phases.filter { $0 == .began }.count == Self.keys.count)
        #expect(phases.filter { $0 == .ended }.count == Self.keys.count)
        #expect(right.digits.waiting.allSatisfy { $0.source == .rfc4733 })
        world.end()
    }

    /// B031 (a), B034, B036: the form of what we send.
    @Test func eventsAreSentInForm() throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left)
        _ = try session.answer(peer.description())
        session.start()
        world.run(.milliseconds(100))
        send("12", session, SendDigitsOptions(duration: .milliseconds(100)), world)
        let events = peer.packets.filter { $0.payloadType == 101 }
        let groups = Dictionary(grouping: events, by: \.timestamp).sorted { $0.key < $1.key }.map(\.value)
        #expect(groups.count == 2)
        for (group, code) in zip(groups, [UInt8(1), 2]) {
            let payloads = group.compactMap { packet in packet.payload.withUnsafeBytes { TelephoneEventPayload($0) } }
            #expect(payloads.allSatisfy { $0.code == code })
            #expect(payloads.map(\.duration) == [160, 320, 480, 640, 800, 800, 800])
            #expect(payloads.map(\.isEnd) == [false, false, false, false, true, true, true])
            #expect(group.map(\.marker) == [true, false, false, false, false, false, false])
            #expect(zip(group, group.dropFirst()).allSatisfy { $1.at - $0.at == .milliseconds(20) })
        }
        // One row of sequence numbers over audio and events.
        #expect(zip(peer.packets, peer.packets.dropFirst()).allSatisfy { $1.sequence == $0.sequence &+ 1 })
        peer.close()
        world.end()
    }

    @Test func soundIsUsedWhereEventsWereNotNegotiated() throws {
        let world = MediaWorld()
        let (left, right) = try world.pair { $0.telephoneEvents = false }
        #expect(!left.canSendEvents)
        send("159#", left, SendDigitsOptions(duration: .milliseconds(100), gap: .milliseconds(100)), world)
        #expect(right.digits.history == "159#")
        #expect(right.digits.waiting.allSatisfy { $0.source == .inband })
        #expect(right.digits.waiting.count == 8)
        world.end()
    }

    @Test func aFlashHasNoSound() throws {
        let world = MediaWorld()
        let (left, right) = try world.pair { $0.telephoneEvents = false }
        var failure: (any Error)?
        world.loop.spawn {
            do { try await left.sendDigits("1!2", options: SendDigitsOptions()) } catch { failure = error }
        }
        world.run(.seconds(3))
        #expect(failure as? CallControlError == .invalid(operation: "send-digits", why: "a flash has no sound"))
        #expect(right.digits.history == "1")
        world.end()
    }

    @Test func aKeyThatComesByTwoWaysIsOne() throws {
        let world = MediaWorld()
        let (left, right) = try world.pair()
        var failure: (any Error)?
        world.loop.spawn {
            do { try await left.sendDigits("55w5", options: SendDigitsOptions()) } catch { failure = error }
        }
        // The same three by INFO, each a little later.
        for time in [100, 350, 1100] {
            world.loop.schedule(after: .milliseconds(time)) { right.receiveInfo(digit: Digit("5")!, duration: nil) }
        }
        world.run(.seconds(5))
        #expect(failure == nil && right.digits.history == "555")
        // INFO alone.
        right.receiveInfo(digit: Digit("7")!, duration: .milliseconds(160))
        right.receiveInfo(digit: Digit("7")!, duration: .milliseconds(160))
        #expect(right.digits.history == "55577")
        world.end()
    }

    @Test func cancellingLetsGoOfTheKey() throws {
        let world = MediaWorld()
        let (left, right) = try world.pair()
        var isCancelled = false
        let task = world.loop.spawn {
            do {
                try await left.sendDigits("1", options: SendDigitsOptions(duration: .seconds(8)))
            } catch is CancellationError {
                isCancelled = true
            } catch {}
        }
        world.run(.milliseconds(500))
        task.cancel()
        world.run(.milliseconds(500))
        #expect(isCancelled)
        #expect(right.digits.waiting.map(\.phase) == [.began, .ended])
        send("2", left, SendDigitsOptions(), world)
        #expect(right.digits.history == "12")
        world.end()
    }

    /// Offered with both clocks, a device may send the one of either codec.
    @Test("of two clocks of events each is its own", arguments: [8000, 48_000]) func clocks(rate: Int) throws {
        let world = MediaWorld(seed: 9)
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left, codecs: ["pcmu", "opus"])
        let offer = String(decoding: session.makeOffer(), as: UTF8.self)
        func number(_ encoding: String) throws -> UInt8 {
            let line = try #require(offer.split(separator: "\r\n").first { $0.hasPrefix("a=rtpmap:") && $0.hasSuffix(encoding) })
            return try #require(line.dropFirst(9).split(separator: " ").first.flatMap { UInt8($0) })
        }
        let (narrow, wide, opus) = (
            try number("telephone-event/8000"), try number("telephone-event/48000"), try number("opus/48000/2")
        )
        var answer = String(decoding: peer.description(formats: "0 \(opus) \(narrow) \(wide)", events: false), as: UTF8.self)
        answer +=
            "a=rtpmap:\(opus) opus/48000/2\r\na=rtpmap:\(narrow) telephone-event/8000\r\na=rtpmap:\(wide) telephone-event/48000\r\n"
        try session.receive(answer: Array(answer.utf8)[...])
        world.run(.milliseconds(100))
        let target = rtpAddress(Array(offer.utf8), ip: MediaWorld.leftIP)
        let start = peer.sender.timestamp
        // Its end is lost, which three times the sender's step tells: 150 ms.
        for packet in 1...4 {
            let duration = UInt16(packet * rate / 20)
            let header = peer.sender.header(
                payloadType: rate == 8000 ? narrow : wide, marker: packet == 1, timestamp: start, octets: 4)
            peer.send(header, [5, 10, UInt8(duration >> 8), UInt8(duration & 255)], to: target)
            world.run(.milliseconds(50))
        }
        #expect(session.digits.waiting.map(\.phase) == [.began])
        world.run(.milliseconds(80))
        #expect(session.digits.waiting.map(\.phase) == [.began])
        world.run(.milliseconds(60))
        #expect(session.digits.waiting.map(\.phase) == [.began, .ended])
        peer.close()
        world.end()
    }

    @Test(
        "events at a clock that no audio has are not agreed on", arguments: [1, 49, 7999, 90_000, 1_073_741_825, 4_294_967_295],
        [20, 60])
    func unusableClocks(rate: Int, packetTime: Int) throws {
        let world = MediaWorld(seed: 9)
        let peer = try RawPeer(world.loop)
        let lines = "a=rtpmap:101 telephone-event/\(rate)\r\n"
        let (session, target) = try world.answering(
            peer.description(events: false, ptime: packetTime) + Array(lines.utf8))
        #expect(!session.canSendEvents)
        for duration in [160, 320] as [UInt16] {
            let header = peer.sender.header(payloadType: 101, marker: true, timestamp: 50_000, octets: 4)
            peer.send(header, [5, 10, UInt8(duration >> 8), UInt8(duration & 255)], to: target)
            world.run(.milliseconds(20))
        }
        world.loop.spawn { try? await session.sendDigits("1", options: SendDigitsOptions()) }
        world.run(.seconds(1))
        #expect(session.digits.history == "" && peer.packets.allSatisfy { $0.payloadType == 0 })
        peer.close()
        world.end()
    }

    @Test func theEndOfTheCallEndsTheSending() throws {
        let world = MediaWorld()
        let (left, _) = try world.pair()
        var failure: CallControlError?
        world.loop.spawn {
            do { try await left.sendDigits("123", options: SendDigitsOptions()) } catch {
                failure = error as? CallControlError
            }
        }
        world.run(.milliseconds(300))
        left.close()
        world.run(.milliseconds(300))
        #expect(failure == .wrongState(operation: "send-digits", why: "the call has ended"))
        world.end()
    }
}
