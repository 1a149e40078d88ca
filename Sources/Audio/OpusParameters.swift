// The parameters of Opus in SDP (RFC 7587 section 6.1): what the other side wishes to receive decides how we encode.

/// How a stream of Opus is encoded. Always in mono; a receiver that prefers stereo takes that as well.
package struct OpusParameters: Hashable, Sendable {
    /// Bits a second, 6000 to 64,000.
    package var bitRate = 24000
    /// The highest rate whose sound is coded, in Hz: 8000, 12,000, 16,000, 24,000 or 48,000.
    package var playbackRate = 48000
    /// Frames carry a coarse copy of the one before, which replaces it when it is lost.
    package var hasErrorCorrection = false
    /// Nothing is sent in silence.
    package var isDiscontinuous = false
    package var isConstantRate = false

    package init() {}

    /// What a receiver wishes by its fmtp; what is not understood, or out of range, is left as it is.
    package init(format: String?) {
        for part in format?.split(separator: ";") ?? [] {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { continue }
            let name = pair[0].filter { $0 != " " && $0 != "\t" }.lowercased()
            guard let value = Int(pair[1].filter { $0 != " " && $0 != "\t" }) else { continue }
            switch name {
            case "maxaveragebitrate" where value >= 6000: bitRate = min(value, 64000)
            case "maxplaybackrate" where value > 0:
                playbackRate = [48000, 24000, 16000, 12000].first { $0 <= value } ?? 8000
            case "useinbandfec": hasErrorCorrection = value == 1
            case "usedtx": isDiscontinuous = value == 1
            case "cbr": isConstantRate = value == 1
            default: break
            }
        }
    }
}
