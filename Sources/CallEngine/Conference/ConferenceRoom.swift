// A conference: who is in it, and its beat. Every 20 ms each member's next block is taken, all that is heard is summed up, and each member
// gets the sum without itself (N-1). The room has a clock of its own: what it and its members exchange crosses by rings (ConferenceLink),
// on the same loop as on another one, so that a late loop costs a gap and never a wait.
//
//   far side -> jitter buffer, decoder (once) -> ring -> block -> mix -> encoder, once for all who hear the same -> ring -> far side

import Audio
import Basics
import Reactor

/// Belongs to its loop.
final class ConferenceRoom {
    /// Somebody has left.
    var onDeparture: (() -> Void)?
    private let services: MediaServices
    private var loop: EventLoop { services.loop }
    private var seats: [ConferenceSeat] = []
    /// Those who do not wait for a moderator.
    private var present: [ConferenceSeat] = []
    /// In Hz: that of the best codec among the members, 8000 or 16,000.
    private var rate = 8000
    private var mix = ConferenceMix(count: 160)
    private var feeds = ConferenceFeeds(rate: 8000, block: 160)
    /// Has room for any record of a ring.
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 8192, alignment: 16)
    private var tones: [(samples: [Int16], done: Int)] = []
    private var election = SpeakerElection()
    private var timer: LoopTimer?
    private var due = Instant.zero
    /// Blocks so far.
    private var turn = 0
    private var nextID = 0

    private static let blockTime = Duration.milliseconds(20)
    /// Blocks that are made good when the loop was late; older ones are left out.
    private static let mostCatchUp = 5

    init(services: MediaServices) { self.services = services }

    deinit { scratch.deallocate() }

    var state: ConferenceState {
        ConferenceState(members: seats.count, hasModerator: seats.contains { $0.link.request.isModerator })
    }

    // MARK: Who is in

    func enter(_ link: ConferenceLink, _ member: LoopBound<ConferenceMember>, _ format: ConferenceFormat) {
        nextID += 1
        let seat = ConferenceSeat(link, member, format, id: nextID)
        seats.append(seat)
        seat.restart(count: mix.count)
        arrange()
        if timer == nil {
            due = loop.now + Self.blockTime
            schedule()
        }
        if link.request.joinTone { sound(ConferenceTones.join(rate: rate)) }
        tellState()
    }

    func leave(_ link: ConferenceLink) {
        guard remove(link) != nil else { return }
        if link.request.leaveTone { sound(ConferenceTones.leave(rate: rate)) }
        if link.request.isModerator, !state.hasModerator {
            let before = state
            for other in seats where other.link.request.endsWithModerator {
                _ = remove(other.link)
                other.member.run { $0.ended(.ended, before) }
            }
        }
        tellState()
    }

    private func remove(_ link: ConferenceLink) -> ConferenceSeat? {
        guard let index = seats.firstIndex(where: { $0.link === link }) else { return nil }
        let seat = seats.remove(at: index)
        if seats.isEmpty {
            timer?.cancel()
            timer = nil
        }
        arrange()
        onDeparture?()
        return seat
    }

    func change(_ link: ConferenceLink, to format: ConferenceFormat) {
        guard let seat = seat(of: link) else { return }
        seat.format = format
        arrange()
    }

    func hear(_ link: ConferenceLink, at volume: Double) { seat(of: link)?.listenRatio = Decibels.ratio(volume) }

    private func seat(of link: ConferenceLink) -> ConferenceSeat? { seats.first { $0.link === link } }

    func close() {
        let state = state
        for seat in seats {
            _ = remove(seat.link)
            seat.member.run { $0.ended(.ended, state) }
        }
    }

    private func tellState() {
        let state = state
        for seat in seats { seat.member.run { $0.changed(state) } }
    }

    /// Somebody has come or gone, or hears in another way.
    private func arrange() {
        adaptRate()
        let hasModerator = state.hasModerator
        present = seats.filter { hasModerator || !$0.link.request.waitsForModerator }
        if present.count < seats.count {
            for seat in seats where seat.link.request.waitsForModerator { seat.feed = nil }
        }
        feeds.arrange(for: present)
    }

    /// As good as the best codec, no dearer than that.
    private func adaptRate() {
        let wanted = seats.map(\.format.rate).max() ?? rate
        guard wanted != rate else { return }
        rate = wanted
        mix = ConferenceMix(count: rate / 50)
        feeds = ConferenceFeeds(rate: rate, block: mix.count)
        tones = []
        for seat in seats { seat.restart(count: mix.count) }
    }

    // MARK: The beat

    private func schedule() {
        timer = loop.schedule(at: due) { [weak self] in self?.fire() }
    }

    private func fire() {
        var turns = Int((loop.now - due).nanoseconds / Self.blockTime.nanoseconds) + 1
        due = due + Self.blockTime * turns
        if turns > Self.mostCatchUp {
            services.counting.conferenceSkips += UInt64(turns - Self.mostCatchUp)
            turns = Self.mostCatchUp
        }
        schedule()
        for _ in 0..<turns { mixBlock() }
    }

    private func mixBlock() {
        turn += 1
        mix.clear()
        for seat in present {
            seat.take(rate: rate, at: turn, scratch: scratch)
            if seat.isHeard { seat.block.withUnsafeBufferPointer { mix.add($0) } }
        }
        mixTones()
        let (encoded, dropped) = feeds.send(mix, at: turn)
        services.counting.conferenceEncodings += UInt64(encoded)
        services.counting.conferenceDrops += UInt64(dropped)
        elect()
    }

    private func elect() {
        let loudest = present.indices.max { present[$0].level < present[$1].level }
        let before = election.speaker
        let current = before.flatMap { id in present.first { $0.id == id }?.level }
        let voice = loudest.map { SpeakerElection.Voice(id: present[$0].id, level: present[$0].level) }
        guard election.hear(loudest: voice, current: current) else { return }
        for seat in present {
            if seat.id == before { seat.member.run { $0.speaks(false) } }
            if seat.id == election.speaker { seat.member.run { $0.speaks(true) } }
        }
    }

    // MARK: Tones

    /// All hear it. Many who come together are not told one by one.
    private func sound(_ tone: [Int16]) {
        guard tones.count < 3, !seats.isEmpty else { return }
        tones.append((tone, 0))
    }

    private func mixTones() {
        guard let tone = tones.first else { return }
        let end = min(tone.samples.count, tone.done + mix.count)
        tone.samples.withUnsafeBufferPointer { mix.add(UnsafeBufferPointer(rebasing: $0[tone.done..<end])) }
        tones[0].done = end
        if end == tone.samples.count { tones.removeFirst() }
    }
}
