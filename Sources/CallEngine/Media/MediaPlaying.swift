// Prompts of a session.

import Basics
import Reactor

extension MediaSession {
    /// Starts playing, in place of what plays in its layer now. A tone without a cadence sounds until it is stopped.
    package func play(_ request: PlaybackRequest) -> Playback {
        if request.layer == .upper { stopPlaying(.stopped) }
        let playback = Playback()
        guard isReady else {
            playback.finish(.failed(isClosed ? "the call has ended" : "there is no audio yet"))
            return playback
        }
        guard !request.sources.isEmpty else {
            playback.finish(.finished)
            return playback
        }
        if request.layer == .under {
            playUnder(request, playback)
            return playback
        }
        beginNow()
        let player = PromptPlayer(request, playback: playback, codec: mixer?.linear ?? codec, packetTime: packetTime)
        self.player = player
        // Not weak: a weak reference makes every use of the session dearer, and the session ends each of its playbacks.
        playback.stopAudio = { [unowned self, unowned player] in
            player.cancel()
            if self.player === player { self.player = nil }
        }
        player.onFailure = { [unowned self, unowned player] reason in end(player, .failed(reason)) }
        player.load(from: services.prompts)
        return playback
    }

    func stopPlaying(_ end: PlaybackEnd) {
        guard let player else { return }
        self.end(player, end)
    }

    /// The playback is over. Whoever waits for it may start the next one in this turn.
    func end(_ player: PromptPlayer, _ end: PlaybackEnd) {
        guard self.player === player else { return }
        self.player = nil
        player.cancel()
        player.playback.finish(end)
    }
}
