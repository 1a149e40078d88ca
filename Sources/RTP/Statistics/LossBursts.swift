// Bursts and gaps (RFC 3611 section 4.7.2 and its example): loss comes evenly or in a bunch, and a bunch is heard more. A gap holds at
// least `threshold` packets between two losses; what is closer belongs to a burst. Only losses cost anything: packets in between are
// told by their number.

/// How the losses of a stream lie.
package struct LossBursts: Equatable, Sendable {
    /// Gmin: received packets that end a burst.
    package static let threshold: UInt32 = 16

    // Transitions of the four states of RFC 3611's example: 1 received in a gap, 2 received in a burst, 3 lost in a burst, 4 lost in a gap.
    private var receivedInGap: UInt64 = 0
    private var lostInGap: UInt64 = 0
    private var gapToBurst: UInt64 = 0
    private var receivedInBurst: UInt64 = 0
    private var runsInBurst: UInt64 = 0
    private var lostInRow: UInt64 = 0
    private var lostOfBurst: UInt64 = 0
    private var lossCount: UInt64 = 0

    /// What it comes to.
    package struct Figures: Equatable, Sendable {
        /// Of the packets in bursts, and in gaps, the share that was lost: 0 to 1.
        package var burstDensity: Double
        package var gapDensity: Double
        /// Mean lengths in packets; a stream without a burst is one gap.
        package var burstLength: Double
        package var gapLength: Double
    }

    package init() {}

    /// `count` packets in a row were lost, after `received` that were not.
    package mutating func lost(_ count: Int, after received: UInt32) {
        for index in 0..<count { loseOne(after: index == 0 ? received : 0) }
    }

    private mutating func loseOne(after received: UInt32) {
        lossCount += 1
        if received >= Self.threshold || lossCount == 1 {
            if lostOfBurst == 1 { lostInGap += 1 } else if lostOfBurst > 1 { gapToBurst += 1 }
            lostOfBurst = 1
            receivedInGap += UInt64(received)
        } else {
            lostOfBurst += 1
            if received == 0 {
                lostInRow += 1
            } else {
                runsInBurst += 1
                receivedInBurst += UInt64(received) - 1
            }
        }
    }

    /// The figures, `received` packets after the last loss.
    package func figures(received: UInt32) -> Figures {
        var all = self
        if lossCount > 0 {
            if lostOfBurst == 1 { all.lostInGap += 1 } else { all.gapToBurst += 1 }
        }
        all.receivedInGap += UInt64(received)
        return all.closed
    }

    private var closed: Figures {
        let (c11, c14, c13) = (Double(receivedInGap), Double(lostInGap), Double(gapToBurst))
        let (c22, c23, c33) = (Double(receivedInBurst), Double(runsInBurst), Double(lostInRow))
        let total = c11 + c14 + 2 * c13 + c22 + 2 * c23 + c33
        let gapDensity = c11 + c14 > 0 ? c14 / (c11 + c14) : 0
        guard c13 > 0 else {
            return Figures(burstDensity: 0, gapDensity: gapDensity, burstLength: 0, gapLength: total)
        }
        let toReceived = c23 / (c13 + c23 + c33)
        let toLost = c22 + c23 < 1 ? 1 : 1 - c22 / (c22 + c23)
        let gapLength = (c11 + c14 + c13) / c13
        return Figures(
            burstDensity: toLost / (toLost + toReceived), gapDensity: gapDensity,
            burstLength: max(total / c13 - gapLength, 0), gapLength: gapLength)
    }
}
