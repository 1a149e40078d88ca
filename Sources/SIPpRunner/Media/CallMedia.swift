// The media of one call: where it sends to and from, what it plays, and what it hears.

import Basics
import RTP
import Reactor

final class CallMedia {
    typealias Medium = Action.Medium

    unowned let run: RunMedia
    unowned let call: ScenarioCall
    var look: MediaLook?
    /// Timers of what plays.
    private var playing: [ObjectIdentifier: LoopTimer] = [:]
    private var sources: [Medium: MediaSource] = [:]
    private var streams: [Medium: StreamPlayer] = [:]
    /// Ports whose sockets the call uses.
    private(set) var ports: Set<Int> = []
    /// What is heard goes back where it came from (`rtp_echo="startaudio"`).
    private(set) var echoes: Set<Medium> = []

    private(set) var sent = 0
    private var statistics = ReceiveStatistics(clockRate: 8000)
    private var keys = TelephoneEventReceiver(clockRate: 8000)
    private(set) var digits = ""
    /// Of patterns: what was sent, how much, and how much came back.
    private var pattern: UInt8?
    private(set) var patternSent = 0
    private(set) var patternReturned = 0

    init(_ run: RunMedia, _ call: ScenarioCall) {
        self.run = run
        self.call = call
    }

    /// Where a medium goes; nil while the far end has not said so.
    func remote(_ medium: Medium) -> SocketAddress? {
        switch medium {
        case .audio: look?.audio
        case .video: look?.video
        case .image: look?.image
        }
    }

    /// The port that the call's own description named for a medium, or that of the command line.
    func port(_ medium: Medium) -> Int {
        switch medium {
        case .audio: call.offeredAudio ?? run.standardPort
        case .video: call.offeredVideo ?? run.standardPort + 2
        case .image: call.offeredImage ?? run.standardPort + 4
        }
    }

    /// Opens the sockets of the media that the call has described.
    func listen() {
        if call.offeredAudio != nil { open(.audio) }
        if call.offeredVideo != nil { open(.video) }
    }

    @discardableResult
    private func open(_ medium: Medium) -> DatagramSocket? {
        let port = port(medium)
        guard let socket = run.socket(port, for: self, isNew: !ports.contains(port)) else { return nil }
        ports.insert(port)
        if let remote = remote(medium) { run.note(remote, on: port, self) }
        return socket
    }

    // MARK: Playing

    /// Plays until it is over, or the call is.
    func play(_ player: any MediaPlayer, on medium: Medium) {
        guard open(medium) != nil else { return }
        step(player, medium)
    }

    private func step(_ player: any MediaPlayer, _ medium: Medium) {
        let key = ObjectIdentifier(player)
        playing[key] = nil
        let now = run.loop.now
        let (length, next) = player.next(into: run.packet, at: now)
        if length > 0, let remote = remote(medium), let socket = run.socket(port(medium)) {
            socket.send(UnsafeRawBufferPointer(rebasing: run.packet[..<length]), to: remote)
            sent += 1
            if let player = player as? StreamPlayer, player.isPattern { patternSent += 1 }
        }
        if let next { playing[key] = run.loop.schedule(at: next) { [weak self] in self?.step(player, medium) } }
    }

    /// Plays a stream instead of the one that plays.
    func stream(_ player: StreamPlayer, on medium: Medium, pattern: UInt8? = nil) {
        if let former = streams[medium] {
            let key = ObjectIdentifier(former)
            playing[key]?.cancel()
            playing[key] = nil
        }
        self.pattern = pattern ?? self.pattern
        streams[medium] = player
        play(player, on: medium)
    }

    /// Presses keys: within the stream that plays, or by themselves.
    func press(_ keys: KeySequence) {
        if let stream = streams[.audio], stream.takesKeys {
            stream.keys = keys
        } else {
            play(KeyPlayer(keys, source(.audio), start: run.loop.now), on: .audio)
        }
    }

    /// The source of all that plays on a medium.
    func source(_ medium: Medium) -> MediaSource {
        if let source = sources[medium] { return source }
        let source = MediaSource()
        sources[medium] = source
        return source
    }

    func pause(_ isPaused: Bool, _ medium: Medium?) {
        for (kind, stream) in streams where medium == nil || medium == kind { stream.isPaused = isPaused }
    }

    func echo(_ medium: Medium, _ isOn: Bool) {
        if isOn { echoes.insert(medium) } else { echoes.remove(medium) }
        if isOn { open(medium) }
    }

    // MARK: Hearing

    func receive(_ octets: UnsafeRawBufferPointer, from source: SocketAddress, at now: Instant, on socket: DatagramSocket) {
        guard let packet = RTPPacket(octets) else { return }
        let isKey =
            packet.payloadType == (look?.keys ?? RunMedia.standardKeys) && packet.payload.count == TelephoneEventPayload.size
        guard
            statistics.receive(
                ssrc: packet.ssrc, sequence: packet.sequence, timestamp: packet.timestamp, at: now, measuresJitter: !isKey
            ).isUsable
        else { return }
        if isKey {
            for event in keys.receive(packet.payload, sequence: packet.sequence, timestamp: packet.timestamp, at: now)
            where event.phase == .began {
                hear(event.code)
            }
        }
        if let pattern, packet.payload.allSatisfy({ $0 == pattern }) { patternReturned += 1 }
        if !echoes.isEmpty, echoes.contains(where: { port($0) == Int(socket.localAddress.port) }) {
            socket.send(octets, to: source)
        }
    }

    private func hear(_ code: UInt8) {
        guard Int(code) < Keys.all.count else { return }
        digits.append(Keys.all[Int(code)])
        call.heard(digits)
    }

    // MARK: The end

    func close() {
        for timer in playing.values { timer.cancel() }
        playing = [:]
    }

    var expected: UInt64 { statistics.expectedCount }
    var received: UInt64 { statistics.receivedCount }
    var lost: UInt64 { statistics.lostCount }
    var jitter: Duration { statistics.jitter }
    /// nil when nothing was heard.
    var score: Double? {
        statistics.expectedCount == 0 ? nil : Quality.score(lost: statistics.lostCount, expected: statistics.expectedCount)
    }
}
