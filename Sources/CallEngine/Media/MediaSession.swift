// The media of one call leg: RTP, RTCP, offer/answer, prompts, recording, keys. No SIP in it.

import Basics
package import Reactor
package import SDP

/// The media of one leg. Belongs to its loop.
package final class MediaSession {
    package let loop: EventLoop
    package let digits: DigitInbox
    /// Nothing came for `rtpTimeout` although media is expected. Once.
    package var onTimeout: (() -> Void)?
    /// The first packet of the far side was accepted. Once.
    package var onFirstPacket: (() -> Void)?
    /// Our wish for the next offer or answer; `sendonly` or `inactive` puts the far side on hold.
    package var wantedDirection = MediaDirection.sendrecv

    /// Takes an RTP port pair at once; throws when there is none.
    package init(services: MediaServices, settings: MediaSettings) throws(MediaError) {
        loop = services.loop
        digits = settings.digits
    }

    /// An offer to send, as SDP octets.
    package func makeOffer() -> [UInt8] { [] }
    /// Answers an offer; on an error nothing has changed.
    package func answer(_ offer: ArraySlice<UInt8>) throws(MediaError) -> [UInt8] { throw .noCommonCodec }
    /// Takes the answer to our offer; a second one (forked, or 183 and then 200) replaces the first.
    package func receive(answer: ArraySlice<UInt8>) throws(MediaError) { throw .unexpected }
    /// Our offer was refused: what was agreed before it holds on.
    package func offerFailed() {}
    /// Our description has gone to the far side (183 or 200): from now on we send, also silence, and expect media. Playing, sending keys
    /// and connecting do this by themselves, and so does an answer to our offer. Once or more.
    package func start() {}

    /// Whether an offer and an answer made a stream.
    package var isReady: Bool { false }
    /// `PCMU/8000`; empty before.
    package var codecName: String { "" }
    package var isHeldByRemote: Bool { false }
    /// telephone-event was negotiated.
    package var canSendEvents: Bool { false }
    package var report: MediaReport { MediaReport() }

    /// Starts playing, in place of what plays now.
    package func play(_ request: PlaybackRequest) -> Playback {
        let playback = Playback()
        playback.finish(.failed("not built yet"))
        return playback
    }

    /// Starts a recording; one at a time.
    package func record(_ request: RecordingRequest) throws(CallControlError) -> Recording { throw .noMedia(operation: "record") }
    /// Reports speech, silence and tones of the far side.
    package func listen(_ request: ListenRequest) -> Listening { Listening() }
    /// Sends keys by telephone-event or as sound; returns when the last one is over. `info` is no matter of media.
    package func sendDigits(_ digits: String, options: SendDigitsOptions) async throws {}
    /// A key that came by SIP INFO.
    package func receiveInfo(digit: Digit, duration: Duration?) {}

    /// Forwards the audio of each to the other, until `disconnect` or the end of one of them. What played stops.
    package func connect(to other: MediaSession) {}
    package func disconnect() {}

    /// Ends it: RTCP BYE, the recording is closed, the ports go back. Once or more.
    package func close() {}
}
