// The VoIP metrics block of RTCP XR (RFC 3611 section 4.7): how one side hears the other. Levels, echo and the jitter buffer's figures are
// written as unavailable and not read.
//
//    |     BT=7      |   reserved    |       block length = 8        |
//    |                        SSRC of source                         |
//    |   loss rate   | discard rate  | burst density |  gap density  |
//    |       burst duration          |         gap duration          |
//    |     round trip delay          |       end system delay        |
//    | signal level  |  noise level  |     RERL      |     Gmin      |
//    |   R factor    | ext. R factor |    MOS-LQ     |    MOS-CQ     |
//    |   RX config   |   reserved    |          JB nominal           |
//    |          JB maximum           |          JB abs max           |

/// One block.
package struct VoIPMetrics: Equatable, Sendable {
    package static let size = 36
    /// What stands for a rating that is not known.
    private static let unavailable: UInt8 = 127

    /// Whose packets are meant.
    package var ssrc: UInt32
    /// In 1/256: lost on the network, and thrown away since they came too late.
    package var lossRate: UInt8
    package var discardRate: UInt8
    /// In 1/256 of the packets in bursts and in gaps.
    package var burstDensity: UInt8
    package var gapDensity: UInt8
    /// Mean lengths in milliseconds.
    package var burstDuration: UInt16
    package var gapDuration: UInt16
    /// Milliseconds; 0: not known.
    package var roundTrip: UInt16
    package var endSystemDelay: UInt16
    /// 0 to 100; nil: not known.
    package var rating: UInt8?
    /// Listening and conversational quality, 1 to 5 in steps of 0.1; nil: not known.
    package var listeningScore: Double?
    package var conversationalScore: Double?

    package init(
        ssrc: UInt32, lossRate: UInt8, discardRate: UInt8, burstDensity: UInt8, gapDensity: UInt8, burstDuration: UInt16,
        gapDuration: UInt16, roundTrip: UInt16, endSystemDelay: UInt16, rating: UInt8?, listeningScore: Double?,
        conversationalScore: Double?
    ) {
        self.ssrc = ssrc
        self.lossRate = lossRate
        self.discardRate = discardRate
        self.burstDensity = burstDensity
        self.gapDensity = gapDensity
        self.burstDuration = burstDuration
        self.gapDuration = gapDuration
        self.roundTrip = roundTrip
        self.endSystemDelay = endSystemDelay
        self.rating = rating
        self.listeningScore = listeningScore
        self.conversationalScore = conversationalScore
    }

    /// A share of 0 to 1 in 1/256.
    package static func share(_ value: Double) -> UInt8 { UInt8(clamping: Int((max(value, 0) * 256).rounded())) }

    /// Of a block of `size` octets with its header.
    init(_ bytes: UnsafeRawBufferPointer) {
        func score(_ octet: UInt8) -> Double? { 10...50 ~= octet ? Double(octet) / 10 : nil }
        self.init(
            ssrc: bytes.read32(at: 4), lossRate: bytes[8], discardRate: bytes[9], burstDensity: bytes[10], gapDensity: bytes[11],
            burstDuration: bytes.read16(at: 12), gapDuration: bytes.read16(at: 14), roundTrip: bytes.read16(at: 16),
            endSystemDelay: bytes.read16(at: 18), rating: bytes[24] <= 100 ? bytes[24] : nil, listeningScore: score(bytes[26]),
            conversationalScore: score(bytes[27]))
    }

    /// Writes `size` octets.
    func write(to output: UnsafeMutableRawBufferPointer) {
        func octet(_ score: Double?) -> UInt8 { score.map { UInt8(clamping: Int(($0 * 10).rounded())) } ?? Self.unavailable }
        output[0] = 7
        output[1] = 0
        output.write16(8, at: 2)
        output.write32(ssrc, at: 4)
        (output[8], output[9], output[10], output[11]) = (lossRate, discardRate, burstDensity, gapDensity)
        output.write16(burstDuration, at: 12)
        output.write16(gapDuration, at: 14)
        output.write16(roundTrip, at: 16)
        output.write16(endSystemDelay, at: 18)
        (output[20], output[21], output[22]) = (Self.unavailable, Self.unavailable, Self.unavailable)
        output[23] = UInt8(LossBursts.threshold)
        (output[24], output[25]) = (rating ?? Self.unavailable, Self.unavailable)
        (output[26], output[27]) = (octet(listeningScore), octet(conversationalScore))
        output.write32(0, at: 28)
        output.write32(0, at: 32)
    }
}
