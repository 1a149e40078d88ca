// Conferences: who hears whom is told by the spectrum of what each caller hears, since each of them sends a tone of his own.

import Audio
import Basics
import CallEngine
import Reactor
import SDP
import TestKit
import Testing

/// Callers in one room, each with a codec and a tone.
final class Meeting {
    static let tones: [Double] = [520, 870, 1310, 1990, 2630]

    let world: MediaWorld
    let directory: ConferenceDirectory
    private(set) var callers: [MediaSession] = []
    private(set) var hubs: [MediaSession] = []
    private(set) var parts: [Participation] = []

    init(seed: UInt64 = 23) {
        world = MediaWorld(seed: seed)
        world.network.impairment.delay = .milliseconds(10)
        directory = ConferenceDirectory([LoopBound(ConferenceRooms(services: world.right), on: world.loop)])
    }

    /// All in a room, all talking, the tones of joining over.
    convenience init(_ codecs: String..., packetTimes: [Int] = [], change: (inout ConferenceRequest) -> Void = { _ in }) throws {
        self.init()
        for (index, codec) in codecs.enumerated() {
            try join(codec, packetTime: packetTimes.isEmpty ? 20 : packetTimes[index], change: change)
            talk(index)
        }
        world.run(.seconds(2))
    }

    @discardableResult
    func join(
        _ codec: String, room: String = "room", packetTime: Int = 20, change: (inout ConferenceRequest) -> Void = { _ in }
    ) throws -> Participation {
        let caller = try world.session(world.left, codecs: [codec]) { $0.packetTime = packetTime }
        let hub = try world.session(world.right, codecs: ["pcmu", "pcma", "g722", "opus", "l16"]) { $0.packetTime = packetTime }
        try MediaWorld.agree(caller, hub)
        callers.append(caller)
        hubs.append(hub)
        var request = ConferenceRequest(room: room)
        change(&request)
        let part = try hub.join(request, of: directory)
        parts.append(part)
        return part
    }

    func talk(_ index: Int, level: Double = -13) {
        _ = callers[index].play(
            PlaybackRequest([.tone(frequencies: [Self.tones[index]], cadence: [], level: level)], loop: .forever))
    }

    /// What every caller hears in the next second.
    func listen() throws -> [AudioClip] {
        let files = callers.indices.map { _ in temporaryFile("meeting.wav") }
        let recordings = try callers.enumerated().map { index, caller in
            try caller.record(RecordingRequest(path: files[index], channels: .caller))
        }
        world.run(.milliseconds(1200))
        for recording in recordings { recording.stop() }
        world.run(.milliseconds(200))
        return try files.map { try PromptFile.read($0).part(from: .milliseconds(150), until: .milliseconds(1150)) }
    }

    /// Row by row, which tones each caller hears.
    func heard() throws -> [[Int]] {
        let clips = try listen()
        return clips.map { clip in
            callers.indices.filter { AudioProbe.level(at: Self.tones[$0], in: clip) > -40 }
        }
    }
}

@Suite struct MediaConferenceTests {
    @Test(arguments: [
        ["pcmu", "pcmu", "pcmu"], ["pcmu", "pcma", "l16"], ["pcmu", "g722", "opus"], ["opus", "opus", "pcma"],
        ["g722", "g722", "l16"]
    ])
    func eachHearsTheOthersAndNeverHimself(codecs: [String]) throws {
        let meeting = try Meeting(codecs[0], codecs[1], codecs[2])
        let clips = try meeting.listen()
        for (listener, clip) in clips.enumerated() {
            for speaker in clips.indices {
                let level = AudioProbe.level(at: Meeting.tones[speaker], in: clip)
                if speaker == listener {
                    #expect(level < -45, "\(codecs[listener]) hears itself: \(level)")
                } else {
                    #expect(abs(level + 13) < 1.5, "\(codecs[listener]) hears \(codecs[speaker]): \(level)")
                }
            }
        }
        #expect(meeting.parts.allSatisfy { $0.state == ConferenceState(members: 3, hasModerator: false) })
        #expect(meeting.world.right.counters.conferenceDrops == 0)
        meeting.world.end()
    }

    @Test(arguments: [[20, 40, 60], [10, 30, 20], [60, 60, 10]]) func packetTimesMayDiffer(times: [Int]) throws {
        let meeting = try Meeting("pcmu", "opus", "pcma", packetTimes: [times[0], times[1] == 30 ? 20 : times[1], times[2]])
        #expect(try meeting.heard() == [[1, 2], [0, 2], [0, 1]])
        meeting.world.end()
    }

    @Test func whoIsMutedIsNotHeardAndHears() throws {
        let meeting = try Meeting("pcmu", "opus", "pcmu")
        meeting.parts[0].isMuted = true
        meeting.world.run(.milliseconds(500))
        #expect(try meeting.heard() == [[1, 2], [2], [1]])
        meeting.parts[0].isMuted = false
        meeting.world.run(.milliseconds(500))
        #expect(try meeting.heard() == [[1, 2], [0, 2], [0, 1]])
        meeting.world.end()
    }

    @Test func volumesAreOfTheOneWhoSpeaksAndOfTheOneWhoListens() throws {
        let meeting = try Meeting("pcmu", "g722", "pcmu")
        meeting.parts[0].talkVolume = -9
        meeting.parts[2].listenVolume = 6
        meeting.world.run(.milliseconds(500))
        let clips = try meeting.listen()
        let levels = [(0, 1, -13.0), (1, 0, -22), (1, 2, -13), (2, 0, -16), (2, 1, -7)]
        for (listener, speaker, wanted) in levels {
            let level = AudioProbe.level(at: Meeting.tones[speaker], in: clips[listener])
            #expect(abs(level - wanted) < 1, "\(speaker) to \(listener): \(level), not \(wanted)")
        }
        meeting.parts[2].listenVolume = 1000
        #expect(meeting.parts[2].listenVolume == 20)
        meeting.world.end()
    }

    @Test func whoLeavesIsGoneAndTheLastOneEndsTheRoom() throws {
        let meeting = try Meeting("pcmu", "pcmu", "opus")
        meeting.parts[0].leave()
        #expect(meeting.parts[0].end == .left)
        #expect(meeting.parts[1].state?.members == 2)
        let clips = try meeting.listen()
        #expect(AudioProbe.level(at: 587, in: clips[1].part(from: .zero, until: .milliseconds(100))) < -40, "the tone is over")
        meeting.world.run(.seconds(1))
        #expect(try meeting.heard() == [[], [2], [1]])
        meeting.hubs[2].close()
        #expect(meeting.parts[2].end == .left)
        #expect(meeting.parts[1].state?.members == 1)
        #expect(meeting.world.right.counters.conferences == 1)
        meeting.parts[1].leave()
        #expect(meeting.world.right.counters.conferences == 0)
        #expect(meeting.world.right.counters.conferenceMembers == 0)
        meeting.world.end()
    }

    @Test func tonesTellWhoComesAndGoes() throws {
        let meeting = Meeting()
        try meeting.join("pcmu") { $0.joinTone = false }
        try meeting.join("pcmu") { ($0.joinTone, $0.leaveTone) = (false, false) }
        meeting.world.run(.seconds(1))
        func tones(_ change: () throws -> Void) throws -> Bool {
            let file = temporaryFile("tones.wav")
            let recording = try meeting.callers[0].record(RecordingRequest(path: file, channels: .caller))
            try change()
            meeting.world.run(.milliseconds(600))
            recording.stop()
            meeting.world.run(.milliseconds(100))
            let clip = try PromptFile.read(file)
            return AudioProbe.level(at: 440, in: clip) > -45 && AudioProbe.level(at: 587, in: clip) > -45
        }
        #expect(try tones { try meeting.join("opus") })
        #expect(try tones { meeting.parts[2].leave() })
        #expect(try !tones { meeting.parts[1].leave() })
        meeting.world.end()
    }

    @Test func roomsAreApartAndHaveALimit() throws {
        let meeting = Meeting()
        try meeting.join("pcmu", room: "a")
        try meeting.join("pcmu", room: "a")
        try meeting.join("pcmu", room: "b")
        let refused = try meeting.join("pcmu", room: "a") { $0.mostMembers = 2 }
        for index in 0..<4 { meeting.talk(index) }
        meeting.world.run(.seconds(2))
        #expect(try meeting.heard() == [[1], [0], [], []])
        #expect(refused.end == .full && refused.state?.members == 2)
        let counters = meeting.world.right.counters
        #expect(counters.conferences == 2 && counters.conferenceMembers == 3 && counters.conferenceRefusals == 1)
        // Who was refused may try again.
        meeting.parts[0].leave()
        #expect(try meeting.hubs[3].join(ConferenceRequest(room: "a"), of: meeting.directory).state?.members == 2)
        #expect(throws: CallControlError.self) { try meeting.hubs[3].join(ConferenceRequest(room: "b"), of: meeting.directory) }
        meeting.world.end()
    }

    @Test func membersWaitForTheirModeratorAndGoWithHim() throws {
        let meeting = Meeting()
        for _ in 0..<2 {
            try meeting.join("pcmu") { ($0.waitsForModerator, $0.endsWithModerator) = (true, true) }
        }
        try meeting.join("opus") { $0.endsWithModerator = false }
        for index in 0..<3 { meeting.talk(index) }
        meeting.world.run(.seconds(1))
        #expect(meeting.parts.map(\.isWaiting) == [true, true, false])
        #expect(try meeting.heard() == [[], [], []])
        try meeting.join("g722") { $0.isModerator = true }
        meeting.talk(3)
        meeting.world.run(.seconds(1))
        #expect(!meeting.parts[0].isWaiting)
        #expect(try meeting.heard() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
        meeting.hubs[3].close()
        #expect(meeting.parts.map(\.end) == [.ended, .ended, nil, .left])
        #expect(meeting.parts[2].state == ConferenceState(members: 1, hasModerator: false))
        meeting.world.end()
    }

    @Test func aLoudRoomIsLimitedAndNotWrapped() throws {
        let meeting = try Meeting("l16", "l16", "l16", "l16") { $0.talkVolume = 10 }
        let clip = try meeting.listen()[0]
        let steps = zip(clip.samples, clip.samples.dropFirst()).map { abs(Int($0) - Int($1)) }
        #expect(clip.samples.max() == 32767 && clip.samples.min() == -32768)
        #expect((1...3).allSatisfy { AudioProbe.level(at: Meeting.tones[$0], in: clip) > -8 })
        // Three sines of half the range at 900, 1400 and 2100 Hz go up by 28,000 a sample; a wrap-around would be twice as much.
        #expect(steps.max()! < 32_000)
        meeting.world.end()
    }

    @Test func thoseWhoHearTheSameShareOneEncoding() throws {
        let meeting = Meeting()
        for _ in 0..<5 { try meeting.join("opus") }
        meeting.talk(0)
        meeting.world.run(.seconds(4))
        let before = meeting.world.right.counters.conferenceEncodings
        meeting.world.run(.seconds(2))
        let encoded = meeting.world.right.counters.conferenceEncodings - before
        #expect((198...202).contains(encoded), "one for the four who listen and one for the one who talks: \(encoded)")
        #expect(try meeting.heard() == [[], [0], [0], [0], [0]])
        meeting.world.end()
    }

    @Test func theOneWhoTalksIsTheActiveSpeaker() throws {
        let meeting = Meeting()
        for _ in 0..<3 { try meeting.join("pcmu") }
        meeting.talk(1)
        meeting.world.run(.seconds(1))
        #expect(meeting.parts.map(\.isSpeaking) == [false, true, false])
        meeting.talk(0, level: -10)
        meeting.world.run(.seconds(1))
        #expect(meeting.parts.map(\.isSpeaking) == [false, true, false], "3 dB are not enough")
        meeting.talk(2, level: -5)
        meeting.world.run(.seconds(1))
        #expect(meeting.parts.map(\.isSpeaking) == [false, false, true])
        meeting.hubs[2].close()
        meeting.world.run(.milliseconds(300))
        #expect(meeting.parts.map(\.isSpeaking).contains(true))
        for caller in meeting.callers { caller.close() }
        meeting.world.run(.seconds(3))
        #expect(meeting.parts.map(\.isSpeaking) == [false, false, false])
        meeting.world.end()
    }

    @Test func whoHoldsIsNotHeard() throws {
        let meeting = try Meeting("pcmu", "pcmu", "opus")
        meeting.callers[0].wantedDirection = .sendonly
        try MediaWorld.agree(meeting.callers[0], meeting.hubs[0])
        meeting.world.run(.seconds(1))
        #expect(try meeting.heard() == [[], [2], [1]])
        meeting.callers[0].wantedDirection = .sendrecv
        try MediaWorld.agree(meeting.callers[0], meeting.hubs[0])
        meeting.world.run(.seconds(1))
        #expect(try meeting.heard() == [[1, 2], [0, 2], [0, 1]])
        meeting.world.end()
    }

    @Test func aPromptIsHeardInPlaceOfTheConference() throws {
        let meeting = try Meeting("pcmu", "pcmu")
        let playback = meeting.hubs[0].play(PlaybackRequest([.tone(frequencies: [2100], cadence: [])]))
        meeting.world.run(.milliseconds(300))
        let clip = try meeting.listen()[0]
        #expect(AudioProbe.level(at: 2100, in: clip) > -15 && AudioProbe.level(at: Meeting.tones[1], in: clip) < -40)
        playback.stop()
        meeting.world.run(.milliseconds(300))
        #expect(try meeting.heard() == [[1], [0]])
        meeting.world.end()
    }

    @Test func lossAndJitterAreBornePerMember() throws {
        let meeting = try Meeting("pcmu", "opus", "g722")
        meeting.world.network.impairment.loss = 0.03
        meeting.world.network.impairment.jitter = .milliseconds(30)
        meeting.world.run(.seconds(5))
        #expect(try meeting.heard() == [[1, 2], [0, 2], [0, 1]])
        meeting.world.end()
    }

    /// A re-INVITE in the middle: the member goes on in the new codec, and the room with another rate.
    @Test func anotherCodecInTheMiddle() throws {
        let meeting = try Meeting("pcmu", "pcma", "pcmu")
        let peer = try RawPeer(meeting.world.loop)
        let hub = try meeting.world.session(meeting.world.right, codecs: ["pcmu", "g722"])
        let target = rtpAddress(try hub.answer(peer.description(formats: "0")), ip: MediaWorld.rightIP)
        hub.start()
        _ = try hub.join(ConferenceRequest(room: "room"), of: meeting.directory)
        peer.send([UInt8](repeating: 0xFF, count: 160), to: target)
        meeting.world.run(.seconds(1))
        for (formats, codec) in [("9", Audio.AudioCodec.g722), ("0", .pcmu)] {
            _ = try hub.answer(peer.description(formats: formats, version: codec == .g722 ? 2 : 3))
            meeting.world.run(.seconds(1))
            peer.forget()
            meeting.world.run(.milliseconds(1300))
            #expect(peer.packets.allSatisfy { $0.payloadType == (codec == .g722 ? 9 : 0) })
            #expect((60...66).contains(peer.packets.count))
            let probe = AudioProbe(codec)
            for packet in peer.packets { probe.hear(packet.payload) }
            let clip = probe.heard.part(from: .milliseconds(200), until: .milliseconds(1200))
            #expect((0..<3).allSatisfy { AudioProbe.level(at: Meeting.tones[$0], in: clip) > -16 }, "\(codec)")
            #expect(try meeting.heard() == [[1, 2], [0, 2], [0, 1]])
        }
        peer.close()
        meeting.world.end()
    }

    /// What was recorded of one member: himself on the left, all others on the right.
    @Test func aMemberIsRecordedWithTheOthers() throws {
        let meeting = try Meeting("pcmu", "opus", "pcmu")
        let file = temporaryFile("member.wav")
        let recording = try meeting.hubs[0].record(RecordingRequest(path: file, channels: .stereo))
        meeting.world.run(.milliseconds(1200))
        recording.stop()
        meeting.world.run(.milliseconds(200))
        for (channel, wanted) in [(0, [0]), (1, [1, 2])] {
            let clip = try PromptFile.read(file, channel: channel).part(from: .milliseconds(150), until: .milliseconds(1150))
            #expect((0..<3).filter { AudioProbe.level(at: Meeting.tones[$0], in: clip) > -40 } == wanted, "\(channel)")
        }
        meeting.world.end()
    }

    /// What no telephone carries is heard between members whose codecs do,.
    @Test func aRoomIsAsWideAsItsMembers() throws {
        let meeting = Meeting()
        for codec in ["g722", "opus", "pcmu"] { try meeting.join(codec) }
        func level() throws -> Double { AudioProbe.level(at: 5200, in: try meeting.listen()[0]) }
        _ = meeting.callers[1].play(PlaybackRequest([.tone(frequencies: [5200], cadence: [])], loop: .forever))
        meeting.world.run(.seconds(1))
        #expect(abs(try level() + 13) < 2)
        meeting.world.end()
    }

    @Test func whatCannotBeMixedTakesNoPart() throws {
        let meeting = try Meeting("pcmu", "pcmu")
        let peer = try RawPeer(meeting.world.loop)
        let hub = try meeting.world.session(meeting.world.right, codecs: ["pcmu", "g729"])
        _ = try hub.answer(peer.description(formats: "0"))
        hub.start()
        let part = try hub.join(ConferenceRequest(room: "room"), of: meeting.directory)
        #expect(part.state?.members == 3)
        _ = try hub.answer(peer.description(formats: "18", version: 2))
        #expect(part.end == .left && meeting.parts[0].state?.members == 2)
        #expect(throws: CallControlError.self) { try hub.join(ConferenceRequest(room: "room"), of: meeting.directory) }
        peer.close()
        meeting.world.end()
    }
}
