// `conference`: the caller talks with all who are in the same room, until a key, a limit, the moderator's end or a hang-up.

import Basics
import CallEngine
import Reactor

/// Takes part in a conference.
package struct ConferenceVerb: Verb {
    package static let name = "conference"
    package static let takesCall = true
    package static let needs = VerbNeed.answered
    package static let outcomes = ["left", "full", "ended", "timeout"]
    package static let example =
        "conference: { room: \"support-${call.to.user}\", max: 8, music: hold-music.wav, keys: { \"*\": mute, \"#\": leave } }"

    private let room: FlowText
    /// What is the same for every call; the room's name is put in when it runs.
    private var settings = ConferenceRequest(room: "")
    private var music: Sound?
    private var limit: FlowLength?
    private var keys: [Digit: ConferenceKey] = [:]

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            guard let room = step.flow.text(plain, "`conference`") else { return nil }
            self.room = room
            return
        }
        guard step.argument != nil, let map = step.open() else {
            step.wrong("the name of a room or a mapping")
            return nil
        }
        guard let room = step.requiredText("room", mend: "room: support") else { return nil }
        self.room = room
        settings.mostMembers = map.int("max", in: 2...1000) ?? settings.mostMembers
        settings.isMuted = map.bool("muted") ?? false
        settings.talkVolume = map.double("talk-volume", in: ConferenceRequest.volumes) ?? 0
        settings.listenVolume = map.double("listen-volume", in: ConferenceRequest.volumes) ?? 0
        settings.joinTone = map.bool("join-tone") ?? true
        settings.leaveTone = map.bool("leave-tone") ?? true
        settings.isModerator = map.bool("moderator") ?? false
        settings.waitsForModerator = map.bool("wait-for-moderator") ?? false
        settings.endsWithModerator = map.bool("end-with-moderator") ?? false
        for key in ["wait-for-moderator", "end-with-moderator"] where settings.isModerator && map.bool(key) == true {
            step.sink.error(
                at: map.place(of: key), "`\(key)` is for those who are no moderators", mend: "remove it, or `moderator: true`")
        }
        music = map.node("music").flatMap { Sound.read($0, "`music`", step.flow) }
        limit = step.length("for")
        for pair in map.mapping("keys")?.entries ?? [] { readKey(pair, step) }
    }

    private mutating func readKey(_ pair: YAMLPair, _ step: StepReader) {
        guard pair.key.text.count == 1, let digit = Digit(pair.key.text.first!) else {
            return step.sink.error(at: pair.key.place, "`keys` has one key of 0-9, *, #, A-D, ! each, not `\(pair.key.text)`")
        }
        guard let word = NodeRead.string(pair.value, "`\(pair.key.text)`", step.sink) else { return }
        guard let action = ConferenceKey(rawValue: word) else {
            return NodeRead.unknown(
                "action", word, of: "`keys`", at: pair.value.place, known: ConferenceKey.allCases.map(\.rawValue), step.sink)
        }
        keys[digit] = action
    }

    package var shape: StepShape {
        var shape = StepShape(takesTime: true)
        shape.exhaustive = Self.outcomes
        return shape
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        var request = settings
        request.room = try run.text(room)
        guard (1...128).contains(request.room.utf8.count) else {
            throw FlowError("conference: a room's name has 1 to 128 letters, not \(request.room.utf8.count)", at: room.place)
        }
        let stay = ConferenceStay(
            try run.call.join(request), run: run, shown: try run.shown(room),
            music: try music.map { (try run.source($0), try run.shown($0)) })
        let timer = try limit.map { length in
            run.loop.schedule(after: try run.length(length)) { [unowned stay] in stay.end("timeout") }
        }
        if !keys.isEmpty { stay.follow(keys) }
        defer {
            timer?.cancel()
            stay.close()
        }
        let outcome = try await stay.over.wait()
        stay.close()
        return StepResult(value: stay.result(outcome), outcome: outcome)
    }
}

/// What a key does in a conference.
enum ConferenceKey: String, CaseIterable, Sendable {
    case leave, mute, unmute
    /// Mutes, or ends that.
    case toggleMute = "toggle-mute"
    /// How loud the others are, and how loud this call is to them: by 3 dB.
    case louder, softer
    case talkLouder = "talk-louder"
    case talkSofter = "talk-softer"
    /// Both volumes as they are without a setting.
    case resetVolume = "reset-volume"

    static let step = 3.0

    func act(on part: Participation) {
        switch self {
        case .leave: part.leave()
        case .mute: part.isMuted = true
        case .unmute: part.isMuted = false
        case .toggleMute: part.isMuted.toggle()
        case .louder: part.listenVolume += Self.step
        case .softer: part.listenVolume -= Self.step
        case .talkLouder: part.talkVolume += Self.step
        case .talkSofter: part.talkVolume -= Self.step
        case .resetVolume:
            part.listenVolume = 0
            part.talkVolume = 0
        }
    }
}

/// One call's time in a conference: its events, its music, what is told of it afterwards.
private final class ConferenceStay {
    let over = Waiter<String>()
    private let part: Participation
    private let run: FlowRun
    private let shown: String
    private let music: (source: AudioSource, name: String)?
    private var playback: Playback?
    private var joined: Instant?
    private var most = 0
    private var speaksSince: Instant?
    private var spoke = Duration.zero
    private var isClosed = false
    private var readsKeys = false

    init(_ part: Participation, run: FlowRun, shown: String, music: (source: AudioSource, name: String)?) {
        self.part = part
        self.run = run
        self.shown = shown
        self.music = music
        part.onChange = { [unowned self] in changed() }
    }

    func follow(_ keys: [Digit: ConferenceKey]) {
        readsKeys = true
        // What was typed before meant something else.
        _ = run.call.digits.read { [part] event in
            if event.phase == .began { keys[event.digit]?.act(on: part) }
        }
    }

    private func changed() {
        if let end = part.end { return self.end(end.rawValue) }
        guard let state = part.state else { return }
        most = max(most, state.members)
        if joined == nil {
            joined = run.loop.now
            run.emit(.conferenceJoined(room: shown, members: state.members))
        }
        if part.isSpeaking != (speaksSince != nil) {
            countSpeech()
            speaksSince = part.isSpeaking ? run.loop.now : nil
            run.emit(.conferenceSpeaking(room: shown, part.isSpeaking))
        }
        playMusic(if: state.members == 1 || part.isWaiting)
    }

    private func playMusic(if isWanted: Bool) {
        guard let music, isWanted != (playback != nil) else { return }
        if isWanted {
            playback = run.start(PlaybackRequest([music.source], loop: .forever), names: [music.name]) { _ in }
        } else {
            playback?.stop()
            playback = nil
        }
    }

    private func countSpeech() {
        if let speaksSince { spoke += run.loop.now - speaksSince }
    }

    func end(_ outcome: String) { over.resume(returning: outcome) }

    /// Once or more; also when the call has ended.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        part.onChange = nil
        part.leave()
        playback?.stop()
        countSpeech()
        if readsKeys { run.call.digits.stopReading() }
    }

    func result(_ outcome: String) -> Value {
        let members = part.state?.members ?? 0
        run.emit(.conferenceLeft(room: shown, outcome: outcome, members: members))
        return .object([
            "outcome": .string(outcome), "room": .string(part.request.room), "members": .int(Int64(members)),
            "most": .int(Int64(most)), "muted": .bool(part.isMuted),
            "duration": .duration(FlowDuration.rounded(joined.map { run.loop.now - $0 } ?? .zero)),
            "spoke": .duration(FlowDuration.rounded(spoke))
        ])
    }
}
