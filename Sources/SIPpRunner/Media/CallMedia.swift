// The media of one call: where it sends to and from, what it plays, and what it hears.

import Basics
import RTP
import Reactor

final class CallMedia {
    typealias Medium = Action.Medium

    unowned let run: RunMedia
    unowned let call: ScenarioCall
    /// The far end's description, and our own.
    private(set) var look: MediaLook?
    private var own: MediaLook?
    /// What protects a medium whose descriptions have keys.
    private var ciphers: [Medium: MediumCipher] = [:]
    /// Media with keys of both ends and no suite in common: nothing is sent on them.
    private var closed: Set<Medium> = []
    /// Timers of what plays.
    private var playing: [ObjectIdentifier: LoopTimer] = [:]
    private var sources: [Medium: MediaSource] = [:]
    private var streams: [Medium: StreamPlayer] = [:]
    /// Ports whose sockets the call uses.
    private(set) var ports: Set<Int> = []
    /// What is heard goes back where it came from (`rtp_echo="startaudio"`).
    private(set) var echoes: Set<Medium> = []

    private(set) var sent = 0
    private var statistics: [Medium: ReceiveStatistics] = [:]
    private var keys: TelephoneEventReceiver?
    private(set) var digits = ""
    private(set) var patterns: [Medium: Pattern] = [:]
    /// Names of the suites that protected a medium.
    private(set) var suites: Set<String> = []
    /// Packets that were not protected with the far end's key.
    private(set) var unauthentic = 0

    /// An octet that is sent again and again, how many packets of it went out, and how many came back.
    struct Pattern {
        var octet: UInt8
        var sent = 0
        var returned = 0
    }

    init(_ run: RunMedia, _ call: ScenarioCall) {
        self.run = run
        self.call = call
    }

    /// Where a medium goes; nil while the far end has not said so.
    func remote(_ medium: Medium) -> SocketAddress? { look?.address(medium) }

    /// The port that the call's own description named for a medium, or that of the command line.
    func port(_ medium: Medium) -> Int {
        switch medium {
        case .audio: call.offeredAudio ?? run.standardPort
        case .video: call.offeredVideo ?? run.standardPort + 2
        case .image: call.offeredImage ?? run.standardPort + 4
        }
    }

    /// A description of either end.
    func described(_ description: MediaLook, isOwn: Bool) {
        if isOwn { own = description } else { look = description }
        for medium in Medium.allCases { agree(on: medium) }
    }

    private func agree(on medium: Medium) {
        let (ours, theirs) = (own?.lines(medium) ?? [], look?.lines(medium) ?? [])
        let cipher = MediumCipher.agreed(own: ours, remote: theirs, after: ciphers[medium])
        ciphers[medium] = cipher
        if let cipher { suites.insert(cipher.name) }
        guard cipher == nil, !ours.isEmpty, !theirs.isEmpty else {
            closed.remove(medium)
            return
        }
        if closed.insert(medium).inserted {
            run.warn(
                "Call-Id: \(call.text(call.id)): both ends encrypt \(medium) and have no suite in common; nothing is sent on it")
        }
    }

    /// The payload type and clock by which the far end hears keys: the clock of what plays, where it takes that; else SIPp's.
    func keyFormat() -> (type: UInt8, clock: UInt32) {
        let offered = (look?.keys ?? [:]).sorted { $0.key < $1.key }
        let clock = streams[.audio]?.clock ?? RunMedia.standardClock
        let found =
            offered.first { $0.value == clock } ?? offered.first { $0.value == RunMedia.standardClock } ?? offered.first
        return found.map { ($0.key, $0.value) } ?? (RunMedia.standardKeys, RunMedia.standardClock)
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
            if !closed.contains(medium) {
                send(length, isPacket: !(player is CapturePlayer), medium, on: socket, to: remote)
                sent += 1
            }
            // What could not be sent does not come back: the check has to fail.
            if (player as? StreamPlayer)?.isPattern == true { patterns[medium]?.sent += 1 }
        }
        if let next { playing[key] = run.loop.schedule(at: next) { [weak self] in self?.step(player, medium) } }
    }

    /// Sends the first octets of the run's packet. What a capture has goes out as it is: it may be encrypted already.
    private func send(_ length: Int, isPacket: Bool, _ medium: Medium, on socket: DatagramSocket, to target: SocketAddress) {
        var length = length
        if isPacket, let cipher = ciphers[medium] { length = cipher.protect(run.packet, count: length) }
        socket.send(UnsafeRawBufferPointer(rebasing: run.packet[..<length]), to: target)
    }

    /// Plays a stream instead of the one that plays.
    func stream(_ player: StreamPlayer, on medium: Medium, pattern: UInt8? = nil) {
        if let former = streams[medium] {
            let key = ObjectIdentifier(former)
            playing[key]?.cancel()
            playing[key] = nil
        }
        if let pattern {
            let former = patterns[medium]
            patterns[medium] = Pattern(octet: pattern, sent: former?.sent ?? 0, returned: former?.returned ?? 0)
        }
        streams[medium] = player
        play(player, on: medium)
    }

    /// Presses keys: within the stream that plays, or by themselves.
    func press(_ keys: KeySequence) {
        if let stream = streams[.audio], stream.takes(keys) {
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
        let medium = Medium.allCases.first { port($0) == Int(socket.localAddress.port) } ?? .audio
        guard let octets = opened(octets, medium), let packet = RTPPacket(octets) else { return }
        let keyClock = keyClock(packet)
        var counts = statistics[medium] ?? ReceiveStatistics(clockRate: clock(of: packet.payloadType))
        let isUsable = counts.receive(
            ssrc: packet.ssrc, sequence: packet.sequence, timestamp: packet.timestamp, at: now, measuresJitter: keyClock == nil
        ).isUsable
        statistics[medium] = counts
        guard isUsable else { return }
        if let keyClock { hear(packet, clock: keyClock, at: now) }
        if let pattern = patterns[medium], packet.payload.allSatisfy({ $0 == pattern.octet }) { patterns[medium]?.returned += 1 }
        guard echoes.contains(medium), octets.count + SRTPSuite.mostTrailer <= run.packet.count else { return }
        run.packet.copyMemory(from: octets)
        send(octets.count, isPacket: true, medium, on: socket, to: source)
    }

    /// The packet in what came; nil when it is not the far end's, or when nobody knows its key yet.
    private func opened(_ octets: UnsafeRawBufferPointer, _ medium: Medium) -> UnsafeRawBufferPointer? {
        guard let cipher = ciphers[medium] else { return own?.lines(medium).isEmpty == false && look == nil ? nil : octets }
        guard let count = cipher.unprotect(octets, to: run.opened) else {
            unauthentic += 1
            return nil
        }
        return UnsafeRawBufferPointer(rebasing: run.opened[..<count])
    }

    /// The clock of a packet of keys; nil for another.
    private func keyClock(_ packet: RTPPacket) -> UInt32? {
        guard packet.payload.count == TelephoneEventPayload.size else { return nil }
        let known = (own?.keys ?? [:]).merging(look?.keys ?? [:]) { own, _ in own }
        if known.isEmpty { return packet.payloadType == RunMedia.standardKeys ? RunMedia.standardClock : nil }
        return known[packet.payloadType]
    }

    private func clock(of type: UInt8) -> UInt32 { own?.clocks[type] ?? look?.clocks[type] ?? RunMedia.standardClock }

    private func hear(_ packet: RTPPacket, clock: UInt32, at now: Instant) {
        var receiver = keys ?? TelephoneEventReceiver(clockRate: clock)
        let events = receiver.receive(packet.payload, sequence: packet.sequence, timestamp: packet.timestamp, at: now)
        keys = receiver
        for event in events where event.phase == .began { hear(event.code) }
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

    private var heard: Dictionary<Medium, ReceiveStatistics>.Values { statistics.values }
    var received: UInt64 { heard.reduce(0) { $0 + $1.receivedCount } }
    var lost: UInt64 { heard.reduce(0) { $0 + $1.lostCount } }
    var jitter: Duration { heard.map(\.jitter).max() ?? .zero }
    /// nil when nothing was heard.
    var score: Double? {
        guard let audio = statistics[.audio], audio.expectedCount > 0 else { return nil }
        return Quality.score(lost: audio.lostCount, expected: audio.expectedCount)
    }
}
