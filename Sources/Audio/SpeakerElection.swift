// Who speaks in a conference: one at a time, who keeps the floor through pauses between words, and whom a cough does not take it from.
//
//   nobody            somebody is loud for 60 ms            he speaks
//   somebody speaks   another is louder by 6 dB for 200 ms  the other one speaks
//   somebody speaks   he is silent for 1 s                  nobody, or who is loud

/// The active speaker of a conference. Call it once a block of 20 ms.
package struct SpeakerElection {
    /// A voice at this moment.
    package struct Voice: Equatable, Sendable {
        package var id: Int
        /// Smoothed, in dBm0.
        package var level: Double

        package init(id: Int, level: Double) {
            self.id = id
            self.level = level
        }
    }

    /// Below that nobody speaks, in dBm0.
    package static let threshold = -42.0
    private static let margin = 6.0
    private static let blocksToBegin = 3
    private static let blocksToTakeOver = 10
    private static let blocksToEnd = 50

    /// nil: nobody speaks.
    package private(set) var speaker: Int?
    private var candidate: (id: Int, blocks: Int)?
    private var silentBlocks = 0

    package init() {}

    /// The smoothed level after a block: up within two blocks, down by 3 dB a block at most.
    package static func smoothed(_ level: Double, after last: Double) -> Double {
        let level = max(level, -90)
        return level > last ? (level + last) / 2 : max(level, last - 3)
    }

    /// - Parameters:
    ///   - loudest: of all voices; nil when there is none.
    ///   - current: the level of the one who speaks; nil when he has left.
    /// - Returns: whether somebody else speaks now, or nobody.
    package mutating func hear(loudest: Voice?, current: Double?) -> Bool {
        let before = speaker
        if speaker != nil {
            silentBlocks = (current ?? -.infinity) > Self.threshold ? 0 : silentBlocks + 1
            if silentBlocks >= Self.blocksToEnd || current == nil { speaker = nil }
        }
        guard let loudest, loudest.level > Self.threshold, loudest.id != speaker,
            speaker == nil || loudest.level > (current ?? -.infinity) + Self.margin
        else {
            candidate = nil
            return speaker != before
        }
        let blocks = candidate?.id == loudest.id ? candidate!.blocks + 1 : 1
        candidate = (loudest.id, blocks)
        if blocks >= (speaker == nil ? Self.blocksToBegin : Self.blocksToTakeOver) {
            speaker = loudest.id
            candidate = nil
            silentBlocks = 0
        }
        return speaker != before
    }
}
