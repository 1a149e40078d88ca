// What one media session is told when it is made.

package import Basics
package import SDP

/// The settings of one session.
package struct MediaSettings {
    /// What is sent while nothing plays.
    package enum IdlePolicy: Equatable, Sendable {
        /// Frames of silence: the stream never pauses, so NAT bindings stay and the far side's RTP timeout does not strike.
        case silence
        /// Nothing; the next packet of audio has the marker set.
        case nothing
    }

    /// Where the keys go that the far side presses; the call owns it.
    package var digits: DigitInbox
    /// The address in our descriptions.
    package var localIP: IPAddress
    /// Where the far side's signaling comes from: a host that media may come from although no description names it.
    package var signalingIP: IPAddress?
    /// Best first, of `knownCodecs`. Others are left out.
    package var codecs: [String]
    /// Nothing received for so long while media is expected: `mediaTimedOut`. Zero: never.
    package var rtpTimeout: Duration
    /// What the RTCP name begins with.
    package var product: String
    /// Milliseconds a packet, in our offers: a multiple of 10 from 10 to 60.
    package var packetTime = 20
    package var telephoneEvents = true
    /// Whether pauses are told instead of being sent, where `idle` sends them.
    package var comfortNoise = ComfortNoisePolicy.accepted
    package var idle = IdlePolicy.silence
    /// Whether the stream is encrypted.
    package var security = MediaSecurity.accepted

    package init(
        digits: DigitInbox, localIP: IPAddress, codecs: [String] = ["pcmu", "pcma"], rtpTimeout: Duration = .seconds(60),
        product: String = "Ringwright"
    ) {
        self.digits = digits
        self.localIP = localIP
        self.codecs = codecs
        self.rtpTimeout = rtpTimeout
        self.product = product
    }
}
