// What flows do with the audio of a call: handed to the media session, or refused where there is none.

import Basics
import Reactor
import SIP

extension Call: MediaUser {
    package func play(_ request: PlaybackRequest) -> Playback {
        guard let media, media.isReady, state == .answered || state == .early else {
            let playback = Playback()
            playback.finish(.failed(state.isEnded ? "the call has ended" : "there is no audio before the answer or early media"))
            return playback
        }
        return media.play(request)
    }

    /// Sends back what is heard from now on. Does nothing before there is audio.
    package func startEcho() {
        if let media, media.isReady { media.startEcho() }
    }

    package func record(_ request: RecordingRequest) throws(CallControlError) -> Recording {
        guard let media else { throw .noMedia(operation: "record") }
        return try media.record(request)
    }

    package func listen(_ request: ListenRequest) -> Listening {
        media?.listen(request) ?? Listening()
    }

    package func sendDigits(_ digits: String, options: SendDigitsOptions) async throws {
        guard let media, state == .answered || state == .early else { throw CallControlError.noMedia(operation: "send-digits") }
        let byInfo = options.method == .info || (options.method == .auto && !media.canSendEvents)
        if byInfo { try await sendInfoDigits(digits, options) } else { try await media.sendDigits(digits, options: options) }
    }

    /// INFO with `application/dtmf-relay`, one a key, with the pauses that `w` (500 ms) and `W` (1 s) ask for.
    private func sendInfoDigits(_ digits: String, _ options: SendDigitsOptions) async throws {
        for character in digits {
            if character == "w" || character == "W" {
                try await loop.sleep(for: character == "w" ? .milliseconds(500) : .seconds(1))
                continue
            }
            guard let digit = Digit(character) else {
                throw CallControlError.invalid(operation: "send-digits", why: "\"\(character)\" is no key")
            }
            let body = "Signal=\(digit)\r\nDuration=\(options.duration.nanoseconds / 1_000_000)\r\n"
            var sent = false
            update { sent = $0.send(.info, body: Array(body.utf8), type: "application/dtmf-relay", into: &$1) }
            guard sent else { throw CallControlError.wrongState(operation: "send-digits", why: "there is no dialog yet") }
            try await loop.sleep(for: options.duration + options.gap)
        }
    }

    package var onQuality: ((QualityEvent) -> Void)? {
        get { qualityListener?.tell }
        set { qualityListener = newValue.map(QualityListener.init) }
    }

    // MARK: MediaUser

    package func mediaMeasured() {
        guard let qualityListener, let media else { return }
        qualityListener.look(at: media.report, codec: media.codecName)
    }

    /// A phone that rings need not send anything.
    package func mediaTimedOut() {
        guard state == .answered else { return }
        hangUp(HangUpReason(status: 408, cause: .mediaTimeout, detail: "no RTP came for \(shard.settings.rtpTimeout)"))
    }

    package func firstMediaArrived() {
        if times.firstMedia == nil { times.firstMedia = loop.now - started }
    }
}
