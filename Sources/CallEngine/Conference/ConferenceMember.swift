// A call's end of a conference: what its far side says goes to the room, what the room has encoded for it goes out. See ConferenceRoom for
// the other end.

import Audio
import Reactor

/// Belongs to the call's loop; its media session has it as long as it is in the room.
final class ConferenceMember {
    let participation: Participation
    /// It is over, whoever ended it.
    var onEnd: (() -> Void)?
    private let link: ConferenceLink
    private let home: LoopBound<ConferenceRooms>
    private let loop: EventLoop
    private var format: ConferenceFormat
    private var surplus = ConferenceSurplus(slack: 1)
    private var talkRatio = 1.0
    private var isOver = false
    private var isInterrupted = false

    /// Payloads that wait at most, besides the one of this tick.
    private static let mostWaiting = 3

    init(
        _ request: ConferenceRequest, home: LoopBound<ConferenceRooms>, loop: EventLoop, codec: Audio.AudioCodec, packetTime: Int
    ) {
        participation = Participation(request)
        link = ConferenceLink(request)
        format = ConferenceFormat(codec: codec, packetTime: packetTime, number: 0)
        talkRatio = Decibels.ratio(participation.talkVolume)
        self.home = home
        self.loop = loop
    }

    /// Asks the room in; the answer comes by `changed` or `ended`.
    func enter() {
        participation.leaveRoom = { [unowned self] in leave() }
        participation.onControl = { [unowned self] in
            talkRatio = Decibels.ratio(participation.talkVolume)
            let volume = participation.listenVolume
            home.run { [link] in $0.hear(link, at: volume) }
        }
        let me = LoopBound(self, on: loop)
        home.run { [link, format] in $0.enter(link, me, format) }
    }

    /// Whether what is heard goes anywhere.
    var takesSound: Bool { !isOver && participation.state != nil && !participation.isMuted && !participation.isWaiting }

    /// The far side said this. False: the room does not keep up, and it was dropped.
    func speak(_ samples: UnsafeBufferPointer<Int16>, rate: Int) -> Bool {
        guard talkRatio != 1 else { return link.spoken.push(UnsafeRawBufferPointer(samples), tag: UInt16(rate / 100)) }
        return withUnsafeTemporaryAllocation(of: Int16.self, capacity: samples.count) { own in
            _ = own.update(fromContentsOf: samples)
            own.amplify(by: talkRatio)
            return link.spoken.push(UnsafeRawBufferPointer(own), tag: UInt16(rate / 100))
        }
    }

    /// The payload of this tick, written to `output`; 0 octets are a pause, nil: none is there.
    func next(to output: UnsafeMutableRawBufferPointer) -> Int? {
        while let record = link.heard.pop(into: output) {
            guard record.tag == format.number else { continue }
            if surplus.excess(link.heard.count) > 0 { link.heard.drop() }
            return record.count
        }
        return nil
    }

    /// Once a tick, whether anything is sent or not: what has waited too long goes.
    func passTime() {
        while link.heard.count > Self.mostWaiting { link.heard.drop() }
    }

    /// Something else is heard in place of the conference.
    func interrupt() { isInterrupted = true }

    /// Whether what is heard from now on is encoded anew, since something else was heard before.
    func beginsAnew() -> Bool {
        guard isInterrupted, !isOver else { return false }
        isInterrupted = false
        format = ConferenceFormat(codec: format.codec, packetTime: format.packetTime, number: format.number &+ 1)
        home.run { [link, format] in $0.change(link, to: format) }
        return true
    }

    /// The call speaks another codec from now on.
    func change(codec: Audio.AudioCodec, packetTime: Int) {
        guard codec != format.codec || packetTime != format.packetTime else { return }
        format = ConferenceFormat(codec: codec, packetTime: packetTime, number: format.number &+ 1)
        home.run { [link, format] in $0.change(link, to: format) }
    }

    /// Once or more.
    func leave() {
        guard !isOver else { return }
        home.run { [link] in $0.leave(link) }
        finish(.left, nil)
    }

    // MARK: What the room tells

    func changed(_ state: ConferenceState) { participation.change(to: state) }
    func speaks(_ isSpeaking: Bool) { participation.speaks(isSpeaking) }
    func ended(_ end: ConferenceEnd, _ state: ConferenceState?) { finish(end, state) }

    private func finish(_ end: ConferenceEnd, _ state: ConferenceState?) {
        guard !isOver else { return }
        isOver = true
        let tell = onEnd
        onEnd = nil
        tell?()
        participation.finish(end, state)
    }
}
