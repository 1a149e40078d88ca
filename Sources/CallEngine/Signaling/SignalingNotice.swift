/// What an operator wants to know about streams; for the log. Failures of peers that come in are given out a few a second at most.
package enum SignalingNotice: Sendable, Equatable {
    /// A stream that this end opened ended by a fault, or never stood: the reason names the peer.
    case failed(String)
    /// A peer that came in was turned away.
    case refused(String)

    package var text: String {
        switch self {
        case .failed(let text), .refused(let text): text
        }
    }
}
