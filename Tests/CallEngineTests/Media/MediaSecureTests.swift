// Encrypted streams between sessions on a virtual network: sound, keys and reports through every suite, holds and changes of keys, bridges
// to plain legs, and packets of somebody without the key.

import Audio
import Basics
import CallEngine
import RTP
import Reactor
import SDP
import TestKit
import Testing

@Suite struct MediaSecureTests {
    @Test("sound, keys and reports pass encrypted") func passes() throws {
        let world = MediaWorld(seed: 3)
        let (one, other) = try world.pair { $0.security = .required }
        #expect(one.srtpSuite == "AES_CM_128_HMAC_SHA1_80" && other.srtpSuite == one.srtpSuite)
        let file = temporaryFile("secure.wav")
        let recording = try other.record(RecordingRequest(path: file))
        _ = one.play(PlaybackRequest([.file(path: prompt("welcome.wav"))]))
        world.run(.seconds(6))
        world.loop.spawn { try? await one.sendDigits("42#", options: SendDigitsOptions()) }
        world.run(.seconds(6))
        recording.stop()
        world.run(.milliseconds(100))
        #expect(try AudioProbe.match(prompt: prompt("welcome.wav"), recording: file).peak > 0.95)
        #expect(other.digits.history == "42#")
        #expect(one.report.roundTrip != nil && other.report.roundTrip != nil && one.report.srtp == one.srtpSuite)
        #expect(one.report.lost == 0 && other.report.lost == 0)
        let counters = world.right.counters
        #expect(counters.droppedUnauthentic == 0 && counters.droppedReplayed == 0 && counters.droppedMalformed == 0)
        world.end()
    }

    /// Offers of one suite alone, as a device without the others makes them.
    @Test("every suite of a device's offer", arguments: SRTPSuite.allCases) func everySuite(suite: SRTPSuite) throws {
        let world = MediaWorld(seed: 4)
        let (session, peer) = try SecurePeer.call(world, suite: suite)
        _ = session.play(PlaybackRequest([.tone(frequencies: [440], cadence: [])]))
        for _ in 0..<50 {
            peer.send([UInt8](repeating: 0x3A, count: 160))
            world.run(.milliseconds(20))
        }
        #expect(session.srtpSuite == suite.rawValue)
        #expect(peer.heard.count >= 48 && peer.failures == 0)
        #expect(peer.heard.allSatisfy { $0.count == 160 + 12 } && session.report.received == 50)
        peer.close()
        world.end()
    }

    @Test("what is replayed, changed or not encrypted is dropped, and counted") func hostile() throws {
        let world = MediaWorld(seed: 5)
        let (session, peer) = try SecurePeer.call(world, suite: .aes128HMAC80)
        peer.send([UInt8](repeating: 1, count: 160))
        world.run(.milliseconds(40))
        let genuine = try #require(peer.lastSent)
        peer.raw(genuine)
        var changed = genuine
        changed[40] ^= 1
        changed[3] &+= 1
        peer.raw(changed)
        var plain = [UInt8](repeating: 0x11, count: 172)
        plain[0] = 0x80
        plain[1] = 0
        peer.raw(plain)
        peer.raw([0x80, 0, 0, 1])
        world.run(.milliseconds(40))
        #expect(session.report.received == 1)
        let counters = world.left.counters
        #expect(counters.droppedReplayed == 1 && counters.droppedUnauthentic == 2 && counters.droppedMalformed == 1)
        peer.send([UInt8](repeating: 1, count: 160))
        world.run(.milliseconds(40))
        #expect(session.report.received == 2)
        peer.close()
        world.end()
    }

    @Test("a hold keeps the keys; the stream goes on") func hold() throws {
        let world = MediaWorld(seed: 6)
        let (one, other) = try world.pair { $0.security = .required }
        world.run(.seconds(1))
        for direction in [MediaDirection.sendonly, .sendrecv] {
            one.wantedDirection = direction
            try MediaWorld.agree(one, other)
            world.run(.seconds(1))
        }
        other.wantedDirection = .sendrecv
        try MediaWorld.agree(other, one)
        world.run(.seconds(1))
        let counters = [world.left.counters, world.right.counters]
        #expect(counters.allSatisfy { $0.droppedUnauthentic == 0 && $0.droppedReplayed == 0 })
        #expect(one.report.lost == 0 && other.report.lost == 0 && other.report.received > 190)
        world.end()
    }

    @Test("they change their key in mid-call: what is on its way is still understood") func newKey() throws {
        let world = MediaWorld(seed: 7)
        let (session, peer) = try SecurePeer.call(world, suite: .aes128GCM)
        peer.send([UInt8](repeating: 1, count: 160))
        world.run(.milliseconds(20))
        let before = peer.sender
        peer.changeKey(seed: 9)
        try peer.take(try session.answer(peer.description(version: 2)))
        peer.send([UInt8](repeating: 1, count: 160), with: before)
        world.run(.milliseconds(20))
        peer.send([UInt8](repeating: 1, count: 160))
        world.run(.milliseconds(20))
        #expect(session.report.received == 3)
        // The new key was heard: the old one is over.
        peer.send([UInt8](repeating: 1, count: 160), with: before)
        world.run(.milliseconds(20))
        #expect(session.report.received == 3 && world.left.counters.droppedUnauthentic == 1)
        world.run(.seconds(1))
        #expect(peer.failures == 0, "our key did not change")
        peer.close()
        world.end()
    }

    @Test(
        "they change their key after a wrap: we take a counter that goes on, and one that begins anew, over a network with loss",
        arguments: [false, true])
    func newKeyAfterAWrap(goesOn: Bool) throws {
        let world = MediaWorld(seed: 17)
        let (session, peer) = try SecurePeer.call(world, suite: .aes128HMAC80, sequence: 65_000)
        world.network.impairment.loss = 0.2
        for _ in 0..<1000 {
            peer.send([UInt8](repeating: 1, count: 160))
            world.run(.milliseconds(20))
        }
        #expect(world.left.counters.droppedUnauthentic == 0)
        world.network.impairment.loss = 0
        let before = session.report.received
        peer.changeKey(seed: 9, goesOn: goesOn)
        try peer.take(try session.answer(peer.description(version: 2)))
        for _ in 0..<10 {
            peer.send([UInt8](repeating: 1, count: 160))
            world.run(.milliseconds(20))
        }
        #expect(session.report.received == before + 10 && peer.failures == 0)
        peer.close()
        world.end()
    }

    @Test(
        "another suite after a wrap: our counter goes on where our packets went, and begins anew elsewhere",
        arguments: [false, true])
    func newSuiteAfterAWrap(isElsewhere: Bool) throws {
        let (world, session, peer) = try SecurePeer.wrapped()
        let next = try SecurePeer(world, suite: .aes128HMAC32, port: 5000)
        let answer = try session.answer(next.description(version: 2, port: isElsewhere ? nil : 4000))
        try next.take(answer)
        // Takes a counter that goes on as well.
        let follower = try SecurePeer(world, suite: .aes128HMAC32, port: 6000)
        try follower.take(answer, after: peer)
        var (heard, failures) = (peer.heard.count, peer.failures)
        if !isElsewhere { peer.receive(as: follower) }
        world.run(.seconds(1))
        #expect((isElsewhere ? next.heard.count : peer.heard.count - heard) >= 45)
        #expect(next.failures == 0 && peer.failures == failures)
        if !isElsewhere {
            (heard, failures) = (peer.heard.count, peer.failures)
            peer.receive(as: next)
            world.run(.seconds(1))
            #expect(peer.heard.count == heard && peer.failures > failures, "the counter began anew")
        }
        for peer in [peer, next, follower] { peer.close() }
        world.end()
    }

    @Test("another far side in its place gets a key of its own, and counts from the beginning", arguments: [false, true])
    func anotherFarSide(isOffered: Bool) throws {
        let (world, session, peer) = try SecurePeer.wrapped()
        let other = try SecurePeer(world, suite: .aes128HMAC80, port: 5000)
        other.changeKey(seed: 2)
        if isOffered {
            try other.take(session.makeOfferToAnother(), tag: 1)
            try session.receive(answer: other.description(tag: 1))
        } else {
            try other.take(session.answer(another: other.description()))
        }
        #expect(other.theirKey != peer.theirKey, "the former one could read on")
        let before = session.report.received
        for _ in 0..<50 {
            other.send([UInt8](repeating: 0x3A, count: 160))
            world.run(.milliseconds(20))
        }
        #expect(other.heard.count >= 48 && other.failures == 0)
        #expect(session.report.received >= before + 48)
        peer.close()
        other.close()
        world.end()
    }

    @Test("one leg of a bridge is encrypted, the other is plain", arguments: ["pcmu", "pcma"]) func bridged(codec: String) throws
    {
        let bridge = try BridgedCall(seed: 8, "pcmu", codec, security: .required)
        let (world, caller, callee) = (bridge.world, bridge.caller, bridge.callee)
        #expect(!bridge.inner.srtpSuite.isEmpty && bridge.outer.srtpSuite.isEmpty)
        let files = (0..<2).map { temporaryFile("secure-bridge\($0).wav") }
        let recordings = [
            try callee.record(RecordingRequest(path: files[0])), try caller.record(RecordingRequest(path: files[1]))
        ]
        _ = caller.play(PlaybackRequest([.file(path: prompt("welcome.wav"))]))
        _ = callee.play(PlaybackRequest([.file(path: prompt("goodbye.wav"))]))
        world.run(.seconds(8))
        for recording in recordings { recording.stop() }
        world.run(.milliseconds(100))
        #expect(try AudioProbe.match(prompt: prompt("welcome.wav"), recording: files[0]).peak > 0.95)
        #expect(try AudioProbe.match(prompt: prompt("goodbye.wav"), recording: files[1]).peak > 0.95)
        world.end()
    }
}

/// A device that speaks SRTP with one suite, made of sockets and ciphers only.
private final class SecurePeer {
    private let peer: RawPeer
    private let suite: SRTPSuite
    private var key: [UInt8]
    private(set) var sender: SRTPSender
    private var receiver: SRTPReceiver?
    private var target = SocketAddress(ip: .any4, port: 0)
    private(set) var heard: [[UInt8]] = []
    private(set) var failures = 0
    private(set) var lastSent: [UInt8]?
    /// With what the session encrypts.
    private(set) var theirKey: KeyMaterial?

    init(_ world: MediaWorld, suite: SRTPSuite, port: UInt16 = 4000, sequence: UInt16 = 1000) throws {
        peer = try RawPeer(world.loop, port: port)
        peer.sender = RTPSender(ssrc: 0xCAFE, sequence: sequence, timestamp: 50_000)
        self.suite = suite
        key = Self.key(suite, seed: 1)
        sender = SRTPSender(suite, master: key)
        peer.socket.onReceive = { [unowned self] bytes, _ in
            var output = [UInt8](repeating: 0, count: bytes.count)
            guard let receiver, let count = try? output.withUnsafeMutableBytes({ try receiver.unprotect(bytes, to: $0) }) else {
                failures += 1
                return
            }
            heard.append(Array(output[..<count]))
        }
    }

    /// It calls a session of the left side.
    static func call(
        _ world: MediaWorld, suite: SRTPSuite, sequence: UInt16 = 1000
    ) throws -> (session: MediaSession, peer: SecurePeer) {
        let peer = try SecurePeer(world, suite: suite, sequence: sequence)
        let session = try world.session(world.left)
        try peer.take(try session.answer(peer.description()))
        session.start()
        return (session, peer)
    }

    /// A call in which the session's sequence number has wrapped: of some calls the one that begins near its end.
    static func wrapped() throws -> (world: MediaWorld, session: MediaSession, peer: SecurePeer) {
        var seed: UInt64 = 0
        while true {
            seed += 1
            let world = MediaWorld(seed: seed)
            let (session, peer) = try call(world, suite: .aes128HMAC80)
            world.run(.milliseconds(100))
            // They begin in the lower half.
            if peer.lastHeard > 31_000 {
                world.run(.seconds(700))
                #expect(peer.lastHeard < 2000 && peer.failures == 0)
                return (world, session, peer)
            }
            peer.close()
            world.end()
        }
    }

    private var lastHeard: UInt16 { heard.last.map { UInt16($0[2]) << 8 | UInt16($0[3]) } ?? 0 }

    private static func key(_ suite: SRTPSuite, seed: UInt8) -> [UInt8] {
        (0..<suite.masterLength).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ seed }
    }

    /// `goesOn`: with the rollover counter.
    func changeKey(seed: UInt8, goesOn: Bool = false) {
        key = Self.key(suite, seed: seed)
        sender = SRTPSender(suite, master: key, after: goesOn ? sender : nil)
    }

    func description(version: Int = 1, tag: Int = 3, port: UInt16? = nil) -> ArraySlice<UInt8> {
        let plain = String(decoding: peer.description(port: port, version: version), as: UTF8.self)
        let line = "a=crypto:\(tag) \(suite.rawValue) inline:\(Base64.encode(key))\r\n"
        return Array((plain.replacing("RTP/AVP", with: "RTP/SAVP") + line).utf8)[...]
    }

    /// The session's description.
    func take(_ answer: [UInt8], tag: Int = 3, after former: SecurePeer? = nil) throws {
        target = rtpAddress(answer, ip: MediaWorld.leftIP)
        let line = try #require(
            try SessionDescription(parsing: answer[...]).media[0].values(of: "crypto").compactMap { CryptoAttribute($0) }.first)
        #expect(line.tag == tag && line.suite == suite)
        theirKey = line.key
        if receiver == nil { receiver = SRTPReceiver(suite, master: line.key.revealed, after: former?.receiver) }
    }

    func receive(as other: SecurePeer) { receiver = other.receiver }

    func send(_ payload: [UInt8], with other: SRTPSender? = nil) {
        let header = peer.sender.audio(payloadType: 0, octets: payload.count)
        peer.sender.advance(by: 160)
        var packet = [UInt8](repeating: 0, count: 12)
        packet.withUnsafeMutableBytes { header.write(to: $0) }
        packet += payload
        let count = packet.count
        packet += [UInt8](repeating: 0, count: SRTPSuite.mostTrailer)
        let length = packet.withUnsafeMutableBytes { (other ?? sender).protect($0, count: count) } ?? 0
        lastSent = Array(packet[..<length])
        raw(lastSent ?? [])
    }

    func raw(_ packet: [UInt8]) { packet.withUnsafeBytes { _ = peer.socket.sendNow($0, to: target) } }
    func close() { peer.close() }
}
