// A member as its room has it: what it says, block by block, and what is encoded for it.

import Audio
import Reactor

/// Belongs to the room.
final class ConferenceSeat {
    let link: ConferenceLink
    let member: LoopBound<ConferenceMember>
    /// Among those of its room.
    let id: Int
    var format: ConferenceFormat {
        didSet { feed = nil }
    }
    /// The ratio of amplitudes by which the others are louder to it.
    var listenRatio: Double
    /// What it alone hears, encoded when it is needed (`isApart`); begun with the next block.
    var feed: Transcoder?
    /// What it says in this block goes into the mix.
    private(set) var isHeard = false
    private(set) var block: [Int16] = []
    /// Smoothed, in dBm0.
    private(set) var level = -90.0
    private var waiting: [Int16] = []
    private var surplus = ConferenceSurplus(slack: 0)
    private var resampler: (from: Int, resampler: Resampler)?
    private var lastSound = -1000
    /// Until then its decoder does not know what was encoded for the others before.
    private var strangerUntil = 0

    /// What is quieter is not mixed, in dBm0: the lines of many who only listen would add up.
    private static let quiet = -55.0
    /// Blocks that are mixed after the last sound.
    private static let hang = 25
    /// Blocks after which what is encoded for all is good for it as well.
    private static let apart = 50

    init(_ link: ConferenceLink, _ member: LoopBound<ConferenceMember>, _ format: ConferenceFormat, id: Int) {
        self.link = link
        self.id = id
        self.member = member
        self.format = format
        listenRatio = Decibels.ratio(link.request.listenVolume)
    }

    /// Begins anew, with blocks of `count` samples.
    func restart(count: Int) {
        block = [Int16](repeating: 0, count: count)
        waiting = []
        surplus = ConferenceSurplus(slack: count)
        resampler = nil
        feed = nil
        isHeard = false
    }

    /// It has come, or has heard something else, while what is encoded for the others goes on.
    func begins(at turn: Int) {
        if format.codec.remembers { strangerUntil = turn + Self.apart }
    }

    /// Takes the next block of what the member says.
    /// - Parameter scratch: has room for any record.
    func take(rate: Int, at turn: Int, scratch: UnsafeMutableRawBufferPointer) {
        while let record = link.spoken.pop(into: scratch) {
            let octets = UnsafeRawBufferPointer(rebasing: scratch[..<record.count])
            add(octets.bindMemory(to: Int16.self), from: Int(record.tag) * 100, to: rate)
        }
        let (count, packet) = (block.count, block.count * max(1, format.packetTime / 20))
        if waiting.count > packet + 4 * count { waiting.removeFirst(waiting.count - packet) }
        isHeard = false
        guard waiting.count >= count else {
            level = SpeakerElection.smoothed(-90, after: level)
            return
        }
        for index in 0..<count { block[index] = waiting[index] }
        waiting.removeFirst(count)
        waiting.removeFirst(surplus.excess(waiting.count))
        let loudness = block.withUnsafeBufferPointer { Decibels.level(of: $0) }
        level = SpeakerElection.smoothed(loudness, after: level)
        if loudness > Self.quiet { lastSound = turn }
        isHeard = turn - lastSound < Self.hang
    }

    private func add(_ samples: UnsafeBufferPointer<Int16>, from: Int, to rate: Int) {
        guard from != rate else {
            waiting.append(contentsOf: samples)
            return
        }
        if resampler?.from != from { resampler = (from, Resampler(from: from, to: rate)) }
        guard let resampler = resampler?.resampler else { return }
        withUnsafeTemporaryAllocation(of: Int16.self, capacity: resampler.maximumOutput(for: samples.count)) { output in
            waiting.append(contentsOf: output[..<resampler.process(samples, into: output)])
        }
    }

    /// It hears something else than those who listen only: itself not, or all others louder. Encoders have a memory, so this holds on for a
    /// while after its last word, and is so for a while after it has come or has heard something else.
    func isApart(at turn: Int) -> Bool {
        listenRatio != 1 || turn - lastSound < Self.hang + Self.apart || turn < strangerUntil
    }

    /// A payload for the member; false when it does not keep up.
    func give(_ payload: UnsafeRawBufferPointer) -> Bool { link.heard.push(payload, tag: format.number) }
}
