// G.729, which is neither encoded nor decoded: played from its frames, passed on between equals, refused where audio is needed.

import Audio
import Basics
import CallEngine
import Foundation
import RTP
import Reactor
import TestKit
import Testing

@Suite struct PassThroughTests {
    /// A second of frames that can be told apart, and a prompt of that name beside it; a prompt without frames; what is no frame.
    private static func files() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try folder.write(frames, to: "hello.g729")
        let wave = try Data(contentsOf: URL(filePath: prompt("goodbye.wav")))
        try folder.write(Array(wave), to: "hello.wav")
        try folder.write(Array(wave), to: "alone.wav")
        try folder.write([UInt8](repeating: 1, count: 11), to: "broken.g729")
        return folder
    }

    private static let frames = (0..<1000).map { UInt8(truncatingIfNeeded: $0 * 7) }

    @Test(arguments: [20, 30], ["hello.g729", "hello.wav"]) func framesGoOutAsTheyAre(packetTime: Int, name: String) throws {
        let folder = try Self.files()
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left, codecs: ["g729"])
        let answer = String(decoding: try session.answer(peer.description(formats: "18 101", ptime: packetTime)), as: UTF8.self)
        #expect(answer.contains("RTP/AVP 18 101\r\n") && answer.contains("a=fmtp:18 annexb=no\r\n"), "\(answer)")
        #expect(session.codecName == "G729/8000")
        session.start()
        world.run(.milliseconds(300))
        #expect(peer.packets.isEmpty, "there is nothing to encode silence with")
        let playback = session.play(
            PlaybackRequest([.file(path: folder.path(name)), .silence(.milliseconds(90)), .file(path: folder.path(name))]))
        world.run(.seconds(3))
        #expect(playback.end == .finished)
        let octets = packetTime
        #expect(peer.packets.allSatisfy { $0.payloadType == 18 })
        #expect(peer.packets.flatMap(\.payload) == Self.frames + Self.frames)
        #expect(peer.packets.dropLast().filter { $0.payload.count != octets }.count <= 1)
        // Sequence numbers go on over the pause, timestamps over its length too, and the marker says that there was one.
        for (one, next) in zip(peer.packets, peer.packets.dropFirst()) {
            #expect(next.sequence == one.sequence &+ 1)
            #expect(next.timestamp &- one.timestamp == UInt32((next.at - one.at).nanoseconds / 125_000))
        }
        peer.close()
        world.end()
    }

    @Test func aPartOfIt() throws {
        let folder = try Self.files()
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left, codecs: ["g729"])
        _ = try session.answer(peer.description(formats: "18"))
        session.start()
        let playback = session.play(
            PlaybackRequest(
                [.file(path: folder.path("hello.g729"))], loop: .times(2), from: .milliseconds(200), until: .milliseconds(300)))
        world.run(.seconds(1))
        #expect(playback.end == .finished)
        #expect(peer.packets.flatMap(\.payload) == Array(Self.frames[200..<300]) + Array(Self.frames[200..<300]))
        peer.close()
        world.end()
    }

    @Test func whatNeedsTheAudioIsRefused() async throws {
        let folder = try Self.files()
        let world = MediaWorld()
        let (left, right) = try world.pair(codecs: ["g729"]) { $0.telephoneEvents = false }
        func failure(_ request: PlaybackRequest) -> String {
            let playback = left.play(request)
            world.run(.milliseconds(100))
            guard case .failed(let reason) = playback.end else { return "\(String(describing: playback.end))" }
            return reason.replacing("\(folder.url.path)/", with: "")
        }
        #expect(
            failure(PlaybackRequest([.file(path: folder.path("alone.wav"))]))
                == "alone.wav: the call speaks G729, into which nothing is encoded; put a file .g729 of this name beside it")
        #expect(failure(PlaybackRequest([.file(path: folder.path("none.g729"))])) == "none.g729: there is no such file")
        #expect(
            failure(PlaybackRequest([.file(path: folder.path("hello.g729"))], volume: -3))
                == "hello.g729: G729 is played as it is, and no louder or softer")
        #expect(
            failure(PlaybackRequest([.file(path: folder.path("broken.g729"))]))
                == "broken.g729: is not an audio file that can be played: 11 octets are no whole number of frames of G.729, which have 10"
        )
        #expect(
            failure(PlaybackRequest([.file(path: folder.path("hello.g729"))], from: .seconds(1))) == "hello.g729: holds no audio")
        #expect(
            failure(PlaybackRequest([.countryTone(name: "busy", country: "de")]))
                == "the call speaks G729, into which nothing can be encoded")
        var under = PlaybackRequest([.file(path: folder.path("hello.g729"))])
        under.layer = .under
        let why = "the call speaks G729, which is passed on and cannot be decoded"
        #expect(failure(under) == why)
        #expect(throws: CallControlError.invalid(operation: "record", why: why)) {
            try right.record(RecordingRequest(path: folder.path("a.wav")))
        }
        var refusal: (any Error)?
        world.loop.spawn {
            do { try await left.sendDigits("1", options: SendDigitsOptions()) } catch { refusal = error }
        }
        world.run(.milliseconds(100))
        #expect(refusal as? CallControlError == .invalid(operation: "send-digits", why: why))
        // Whoever listens hears nothing, and nothing breaks.
        var events: [ListenEvent] = []
        right.listen(ListenRequest(speech: true)).onEvent = { events.append($0) }
        _ = left.play(PlaybackRequest([.file(path: folder.path("hello.g729"))]))
        world.run(.seconds(2))
        #expect(events.isEmpty && right.report.received == 50)
        world.end()
    }

    @Test func itIsNoPromptForOthers() throws {
        let folder = try Self.files()
        let world = MediaWorld()
        let (left, _) = try world.pair()
        let playback = left.play(PlaybackRequest([.file(path: folder.path("hello.g729"))]))
        world.run(.milliseconds(100))
        #expect(playback.end == .failed("\(folder.path("hello.g729")): G.729 is played only in calls that speak it"))
        #expect(try PromptFile.length(of: folder.path("hello.g729")) == .seconds(1))
        world.end()
    }

    @Test func aBridgePassesItOn() throws {
        let folder = try Self.files()
        let call = try BridgedCall(seed: 4, "g729", "g729")
        let peer = call.callee
        let playback = call.caller.play(PlaybackRequest([.file(path: folder.path("hello.g729"))]))
        call.world.run(.seconds(2))
        #expect(playback.end == .finished)
        #expect(peer.report.received == 50 && peer.report.lost == 0)
        #expect(call.world.right.counters.packetsForwarded == 50 && call.world.right.counters.packetsTranscoded == 0)
        // A key goes on beside it.
        var keys = ""
        _ = peer.digits.read { if $0.phase == .began { keys.append($0.digit.character) } }
        call.world.loop.spawn { try? await call.caller.sendDigits("5", options: SendDigitsOptions()) }
        call.world.run(.seconds(1))
        #expect(keys == "5")
        call.world.end()
    }

    /// Formats of both legs; what one of them changes to, and what it is answered; nil: 488.
    @Test(
        arguments: [
            ("0", "18", nil), ("0", "18 0", "0"), ("0", "8 18", "8"), ("18", "0", nil), ("18", "0 18", "18")
        ] as [(String, String, String?)])
    func aBridgedLegDoesNotChangeToWhatTheOtherCannotHear(formats: String, change: String, answer: String?) throws {
        let world = MediaWorld()
        let peers = [try RawPeer(world.loop), try RawPeer(world.loop, port: 4002)]
        let codecs = ["g729", "pcmu", "pcma"]
        let legs = try peers.map { try world.answering($0.description(formats: formats), codecs: codecs).session }
        legs[0].connect(to: legs[1])
        let before = legs[0].codecName
        let offer = peers[0].description(formats: change, events: false, version: 2)
        if let answer {
            #expect(String(decoding: try legs[0].answer(offer), as: UTF8.self).contains("RTP/AVP \(answer)\r\n"))
        } else {
            #expect(throws: MediaError.noCommonCodec) { try legs[0].answer(offer) }
            #expect(legs[0].codecName == before)
        }
        // Alone again it may.
        legs[0].disconnect()
        let first = change.prefix { $0 != " " }
        let last = try legs[0].answer(peers[0].description(formats: change, events: false, version: 3))
        #expect(String(decoding: last, as: UTF8.self).contains("RTP/AVP \(first)\r\n"))
        for peer in peers { peer.close() }
        world.end()
    }

    @Test func itsQualityIsToldWithoutDecoding() {
        var media = MediaReport()
        media.received = 1000
        let score = VoiceQuality.meanOpinionScore(of: media, codec: "G729/8000") ?? 0
        let best = VoiceQuality.meanOpinionScore(of: media, codec: "PCMU/8000") ?? 0
        // Ie is 11: worse than G.711 from the start (ITU-T G.113).
        #expect(score > 3.9 && score < best - 0.1, "\(score), \(best)")
    }

    @Test("a recording that goes on in a codec that is only passed on is not complete") func recordedPart() throws {
        let world = MediaWorld(seed: 7)
        let peer = try RawPeer(world.loop)
        let (session, target) = try world.answering(peer.description(formats: "0 18 101"), codecs: ["pcmu", "g729"])
        let file = temporaryFile("part.wav")
        let recording = try session.record(RecordingRequest(path: file))
        for packet in 0..<100 {
            if packet == 50 { _ = try session.answer(peer.description(formats: "18 101", version: 2)) }
            peer.send([UInt8](repeating: 0x12, count: packet < 50 ? 160 : 20), type: packet < 50 ? 0 : 18, to: target)
            world.run(.milliseconds(20))
        }
        recording.stop()
        world.run(.milliseconds(200))
        let result = try #require(recording.result)
        #expect(!result.complete && result.detail.contains("G729"), "\(result)")
        peer.close()
        world.end()
    }
}
