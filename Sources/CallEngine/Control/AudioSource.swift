import Basics

/// Something that can be played.
package enum AudioSource: Equatable, Sendable {
    /// A file that libsndfile reads; the path is already confined to the prompts folder.
    case file(path: String)
    /// What has to be got first.
    case supplied(PromptOrigin)
    /// A tone of a country's plan: `ringback`, `busy`, `congestion`, `dial`; country as ISO 3166 code (`us`, `de`, …).
    case countryTone(name: String, country: String)
    /// Frequencies in Hz that sound together, with on and off times in turn; an empty cadence is a steady tone.
    case tone(frequencies: [Double], cadence: [Duration], level: Double = -13)
    case silence(Duration)

    /// It is a file, or becomes one.
    package var isFile: Bool {
        switch self {
        case .file, .supplied: true
        case .countryTone, .tone, .silence: false
        }
    }
}

/// Audio that is no file yet.
package enum PromptOrigin: Hashable, Sendable {
    /// A file at a URL, http or https. `shown`: its name in logs, without what is secret.
    case web(url: String, shown: String)
    /// A text that is spoken.
    case speech(Utterance)

    /// For logs.
    package var shown: String {
        switch self {
        case .web(_, let shown): shown
        case .speech(let utterance): utterance.shown
        }
    }
}

/// A text to be spoken.
package struct Utterance: Hashable, Sendable {
    package var text: String
    /// A name that the one who speaks knows; nil: the usual one.
    package var voice: String?
    /// A code such as `en` or `de-CH`.
    package var language: String
    /// The text for logs, without what is secret.
    package var shown: String
    /// Something of it is.
    package var isSecret: Bool { shown != text }

    package init(text: String, voice: String? = nil, language: String, shown: String) {
        self.text = text
        self.voice = voice
        self.language = language
        self.shown = shown
    }
}

/// What to play and how.
package struct PlaybackRequest: Equatable, Sendable {
    package enum Loop: Equatable, Sendable {
        case times(Int)
        case forever
    }

    /// Where it plays: a new one takes the place of what plays in its layer.
    package enum Layer: Equatable, Sendable {
        case upper
        /// Under the upper layer: both are heard.
        case under
    }

    /// Played one after the other without a gap.
    package var sources: [AudioSource]
    package var loop: Loop
    /// Where in the first file to begin, and where (from the file's start) to end.
    package var from: Duration
    package var until: Duration?
    /// In dB; 0 leaves it as it is.
    package var volume: Double
    package var layer = Layer.upper

    package init(
        _ sources: [AudioSource], loop: Loop = .times(1), from: Duration = .zero, until: Duration? = nil, volume: Double = 0
    ) {
        self.sources = sources
        self.loop = loop
        self.from = from
        self.until = until
        self.volume = volume
    }
}

/// How a playback ended.
package enum PlaybackEnd: Equatable, Sendable {
    /// The last sample went out.
    case finished
    /// `stop()`, another playback or the end of the call cut it.
    case stopped
    /// It could not be played; the reason names the file.
    case failed(String)
}

/// Something that plays. Belongs to the call's loop.
package final class Playback {
    package private(set) var end: PlaybackEnd?
    /// How much of it was sent so far; the one who plays keeps it up to date.
    package var played: Duration {
        get { .nanoseconds(playedNanoseconds) }
        set { playedNanoseconds = newValue.nanoseconds }
    }
    @exclusivity(unchecked) private var playedNanoseconds: Int64 = 0
    /// Called once, at the end; at once when it is over already.
    package var onEnd: ((PlaybackEnd) -> Void)? {
        didSet {
            if let end, let onEnd { onEnd(end) }
        }
    }
    /// Set by the one who plays: stops the audio before the next packet.
    package var stopAudio: (() -> Void)?

    package init() {}

    /// For the one who plays: so much more was sent.
    func advance(milliseconds: Int) { playedNanoseconds &+= Int64(milliseconds) &* 1_000_000 }

    /// Stops it before the next packet goes out.
    package func stop() {
        guard end == nil else { return }
        stopAudio?()
        finish(.stopped)
    }

    /// For the one who plays: reports the end, once.
    package func finish(_ end: PlaybackEnd) {
        guard self.end == nil else { return }
        self.end = end
        stopAudio = nil
        onEnd?(end)
    }
}
