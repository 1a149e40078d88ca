// Why a description was not taken, or why there is no media at all.

import SDP

/// An offer or answer that cannot be used, or no ports left. SIP answers with `status`.
package enum MediaError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The octets are no session description; the reason names the line.
    case malformed(String)
    /// No audio codec in common.
    case noCommonCodec
    /// No audio, another transport (DTLS), encryption that is off or missing, another address family.
    /// `warnCode`: of RFC 3261 section 20.43.
    case unsupported(String, warnCode: Int)
    /// An offer while ours waits for its answer (RFC 3261 section 14.2).
    case glare
    /// An answer that nobody asked for.
    case unexpected
    /// Every port of the range is in use.
    case noPorts(ClosedRange<UInt16>)
    /// The system gives no socket; the text is its error.
    case noSocket(String)

    /// The SIP status for it.
    package var status: Int {
        switch self {
        case .malformed: 400
        case .noCommonCodec, .unsupported: 488
        case .glare, .unexpected: 491
        case .noPorts, .noSocket: 503
        }
    }

    /// What a Warning header says of it (RFC 3261 section 20.43): 399 where none of the others fits.
    package var warnCode: Int {
        switch self {
        case .noCommonCodec: 305
        case .unsupported(_, let code): code
        case .malformed, .glare, .unexpected, .noPorts, .noSocket: 399
        }
    }

    /// Text for a Warning header and the log; no quotes in it.
    package var warning: String {
        switch self {
        case .malformed(let reason): "the session description cannot be read: \(reason)"
        case .noCommonCodec: "no audio codec in common"
        case .unsupported(let reason, _): reason
        case .glare: "an offer of this side waits for its answer"
        case .unexpected: "an answer without an offer"
        case .noPorts(let range): "all RTP ports from \(range.lowerBound) to \(range.upperBound) are in use"
        case .noSocket(let reason): "no RTP socket: \(reason)"
        }
    }

    package var description: String { warning }

    init(_ error: OfferAnswerError) {
        self =
            switch error {
            case .noAudio: .unsupported("there is no audio in the session description", warnCode: 304)
            case .audioRejected: .unsupported("the audio stream was rejected", warnCode: 304)
            case .unsupportedTransport: .unsupported("only RTP is spoken, and SRTP (SDES) where it is not off", warnCode: 302)
            case .securityRequired: .unsupported("encrypted media (RTP/SAVP) is required here", warnCode: 302)
            case .noCommonSuite: .unsupported("none of the keys for SRTP can be used", warnCode: 306)
            case .otherFamily:
                .unsupported("the session description has an address of another family than this end", warnCode: 301)
            case .noUsableAddress:
                .unsupported("the session description has no address that can be reached from here", warnCode: 301)
            case .noCommonCodec: .noCommonCodec
            case .badAnswer: .unsupported("the answer has fewer streams than the offer", warnCode: 399)
            case .glare: .glare
            case .unexpected: .unexpected
            }
    }
}
