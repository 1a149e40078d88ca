// Finds speech and silence in a stream, from what its blocks of 32 ms are (SoundBlocks). Tones count as sound, so they end a silence, but
// don't begin speech.

/// Detects when speech begins and ends, and silence that lasts. Events carry the number of samples since the start.
package final class SpeechDetector {
    package struct Settings: Equatable, Sendable {
        /// Nothing quieter than this is sound, in dBm0.
        package var threshold: Double
        /// By how many dB sound stands out above the noise floor.
        package var margin: Double
        /// So much speech within the last 200 ms makes a beginning.
        package var begin: Duration
        /// Speech has ended when there was none for so long.
        package var hangover: Duration
        /// Report silence that lasts so long; nil: don't.
        package var silence: Duration?

        package init(
            threshold: Double = -42, margin: Double = 12, begin: Duration = .milliseconds(96),
            hangover: Duration = .milliseconds(700),
            silence: Duration? = nil
        ) {
            self.threshold = threshold
            self.margin = margin
            self.begin = begin
            self.hangover = hangover
            self.silence = silence
        }
    }

    package enum Event: Equatable, Sendable {
        /// `sample` is where the speech began: a little before now.
        case speechBegan(sample: Int)
        /// `sample` is where the last of it was.
        case speechEnded(sample: Int)
        /// Silence has lasted as long as asked. Reported once, until sound comes again.
        case silence(sample: Int)
    }

    package let settings: Settings
    /// Samples taken so far, missing ones among them.
    package var position: Int { blocks.position }
    package private(set) var isSpeaking = false

    private let blocks: SoundBlocks
    /// For the last six blocks, the newest in bit 0: whether it was speech.
    private var recent = 0
    private var lastSpeech = 0
    private var lastSound = 0
    private var silenceReported = false
    private let beginBlocks: Int
    private let hangover: Int
    private let silence: Int?

    /// - Parameter rate: 8000 or 16000.
    package init(rate: Int = 8000, settings: Settings = Settings()) {
        self.settings = settings
        blocks = SoundBlocks(rate: rate, threshold: settings.threshold, margin: settings.margin)
        let begin = AudioClip.samples(in: settings.begin, rate: rate)
        beginBlocks = max(1, min(6, (begin + blocks.size - 1) / blocks.size))
        hangover = AudioClip.samples(in: settings.hangover, rate: rate)
        silence = settings.silence.map { AudioClip.samples(in: $0, rate: rate) }
    }

    /// Takes samples in pieces of any size and reports what they brought, in order.
    package func process(_ samples: UnsafeBufferPointer<Int16>, _ report: (Event) -> Void) {
        blocks.process(samples) { take($0, report) }
    }

    /// Time passes without samples: lost packets, or a far side that sends none. It counts as silence.
    package func processMissing(_ count: Int, _ report: (Event) -> Void) {
        blocks.processMissing(count) { take($0, report) }
    }

    private func take(_ kind: SoundBlocks.Kind, _ report: (Event) -> Void) {
        recent = (recent << 1 | (kind == .speech ? 1 : 0)) & 0x3F
        if kind != .silence {
            lastSound = position
            silenceReported = false
        }
        if kind == .speech { lastSpeech = position }
        if !isSpeaking, recent.nonzeroBitCount >= beginBlocks {
            isSpeaking = true
            let count = Int.bitWidth - recent.leadingZeroBitCount
            report(.speechBegan(sample: max(0, position - count * blocks.size)))
        } else if isSpeaking, position - lastSpeech >= hangover {
            isSpeaking = false
            recent = 0
            report(.speechEnded(sample: lastSpeech))
        }
        if let silence, !silenceReported, position - lastSound >= silence {
            silenceReported = true
            report(.silence(sample: position))
        }
    }
}
