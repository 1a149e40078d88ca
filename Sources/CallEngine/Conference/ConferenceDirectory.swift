// Where a conference lives: the hash of its name says on which loop, as a Call-ID's does for a call. So nobody has to ask, and the calls of
// a room, which may be on any loop, all find the same one.

import Audio
import Basics
package import Reactor

/// The rooms of all loops. The same for every loop of an engine.
package final class ConferenceDirectory: Sendable {
    private let homes: [LoopBound<ConferenceRooms>]

    /// - Parameter homes: the rooms of each loop, in the order of the shards; at least one.
    package init(_ homes: [LoopBound<ConferenceRooms>]) { self.homes = homes }

    func home(of name: String) -> LoopBound<ConferenceRooms> {
        homes[ShardChoice.index(ofCallID: Array(name.utf8)[...], count: homes.count)]
    }
}

/// What joins a member with its room: each side holds it, on its own loop. It says who is meant, too.
final class ConferenceLink: Sendable {
    let request: ConferenceRequest
    /// What the member says: samples of 16 bits; the tag is their rate in hundreds of Hz.
    let spoken = RecordRing(capacity: ringSize)
    /// What the member hears: payloads; the tag is the number of its format. One without octets is a pause.
    let heard = RecordRing(capacity: ringSize)

    /// 60 ms of L16 at 16 kHz take 1,924 octets; twice as much waits at most.
    private static let ringSize = 8192

    init(_ request: ConferenceRequest) { self.request = request }
}

/// How a member wants to hear.
struct ConferenceFormat: Equatable, Sendable {
    var codec: Audio.AudioCodec
    /// In milliseconds.
    var packetTime: Int
    /// Counts the changes, so that what was encoded before the last one is not sent.
    var number: UInt16

    /// Of the samples that it says, in Hz. Rooms are mixed at 8 or 16 kHz: what the telephone carries.
    var rate: Int { ConferenceFormat.rate(of: codec) }

    static func rate(of codec: Audio.AudioCodec) -> Int { codec.sampleRate > 8000 ? 16000 : 8000 }
}

/// What waits and was not needed for five seconds is only late: it may be left out. One block or packet may wait always: without it, two
/// clocks that tick at nearly the same moment would miss each other again and again.
package struct ConferenceSurplus {
    private let slack: Int
    private var least = Int.max
    private var turns = 0

    /// - Parameter slack: what may wait always.
    package init(slack: Int) { self.slack = slack }

    /// - Parameter left: what was left after a turn (of 20 ms or of a packet).
    /// - Returns: how much may go; mostly nothing.
    package mutating func excess(_ left: Int) -> Int {
        least = min(least, left)
        turns += 1
        guard turns >= 250 else { return 0 }
        defer { (least, turns) = (.max, 0) }
        return max(0, least - slack)
    }
}
