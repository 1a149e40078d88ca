/// What the sockets counted about signaling.
package struct SignalingCounters: Equatable, Sendable {
    package var received: UInt64 = 0
    package var sent: UInt64 = 0
    /// Datagrams and streams that were no SIP.
    package var garbage: UInt64 = 0
    /// Messages refused by the parser, answered or not.
    package var malformed: UInt64 = 0
    /// Messages that went with others in one datagram, which the kernel cut (`EngineSettings.segmentation`).
    package var segmented: UInt64 = 0
    /// Messages that could not be sent.
    package var sendFailures: UInt64 = 0
    /// Of these, datagrams to a port where nobody listens: the peer's doing.
    package var refusedDatagrams: UInt64 = 0
    package var streamsOpened: UInt64 = 0
    package var streamsAccepted: UInt64 = 0
    /// Streams refused because too many stood.
    package var streamsRefused: UInt64 = 0
    /// Handshakes of TLS that came about, both roles, and how many of them were short ones.
    package var handshakes: UInt64 = 0
    package var handshakesResumed: UInt64 = 0
    package var handshakesFailed: UInt64 = 0

    package init() {}
}
