// Finds speech and silence in a stream by energy above an adaptive noise floor, in blocks of 32 ms.
//
// What is no speech: blocks whose energy lies nearly all (97%) in three narrow peaks or fewer are tones: ringback,
// busy, dial tone, DTMF, beeps, also modulated ones. They count as sound, so they end a silence, but don't begin speech.
// What it does not do: tell speech from music or from noise that comes and goes; sung or whistled notes pass as tones.

import Glibc

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

    /// 8000 or 16000.
    package let rate: Int
    package let settings: Settings
    /// Samples taken so far, missing ones among them.
    package private(set) var position = 0
    package private(set) var isSpeaking = false

    private let blockSize: Int
    private let fourier: Fourier
    private let window: [Float]
    private var block: [Int16]
    private var filled = 0
    private var tracker: LevelTracker
    /// For the last six blocks, the newest in bit 0: whether it was speech.
    private var recent = 0
    private var lastSpeech = 0
    private var lastSound = 0
    private var silenceReported = false
    private let beginBlocks: Int
    private let hangover: Int
    private let silence: Int?

    package init(rate: Int = 8000, settings: Settings = Settings()) {
        precondition(rate == 8000 || rate == 16000, "detectors work at 8 and 16 kHz")
        self.rate = rate
        self.settings = settings
        blockSize = rate == 8000 ? 256 : 512
        fourier = Fourier(size: blockSize)
        window = (0..<blockSize).map { [blockSize] in Float(0.5 - 0.5 * cos(2 * Double.pi * Double($0) / Double(blockSize))) }
        block = [Int16](repeating: 0, count: blockSize)
        tracker = LevelTracker(threshold: settings.threshold, margin: settings.margin)
        let begin = AudioClip.samples(in: settings.begin, rate: rate)
        beginBlocks = max(1, min(6, (begin + blockSize - 1) / blockSize))
        hangover = AudioClip.samples(in: settings.hangover, rate: rate)
        silence = settings.silence.map { AudioClip.samples(in: $0, rate: rate) }
    }

    /// Takes samples in pieces of any size and reports what they brought, in order.
    package func process(_ samples: UnsafeBufferPointer<Int16>, _ report: (Event) -> Void) {
        var taken = 0
        while taken < samples.count {
            let count = min(blockSize - filled, samples.count - taken)
            for index in 0..<count { block[filled + index] = samples[taken + index] }
            filled += count
            taken += count
            position += count
            if filled == blockSize {
                filled = 0
                finishBlock(report)
            }
        }
    }

    /// Time passes without samples: lost packets, or a far side that sends none. It counts as silence.
    package func processMissing(_ count: Int, _ report: (Event) -> Void) {
        var left = count
        while left > 0 {
            let part = min(blockSize - filled, left)
            for index in 0..<part { block[filled + index] = 0 }
            filled += part
            left -= part
            position += part
            if filled == blockSize {
                filled = 0
                finishBlock(report)
            }
        }
    }

    private func finishBlock(_ report: (Event) -> Void) {
        let level = block.withUnsafeBufferPointer { Decibels.level(of: $0) }
        let sound = tracker.isSound(level, blockSeconds: Double(blockSize) / Double(rate))
        let speech = sound && !isTone()
        recent = (recent << 1 | (speech ? 1 : 0)) & 0x3F
        if sound {
            lastSound = position
            silenceReported = false
        }
        if speech { lastSpeech = position }
        if !isSpeaking, recent.nonzeroBitCount >= beginBlocks {
            isSpeaking = true
            let blocks = Int.bitWidth - recent.leadingZeroBitCount
            report(.speechBegan(sample: max(0, position - blocks * blockSize)))
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

    /// Whether nearly all energy lies within two bins of the three strongest peaks.
    private func isTone() -> Bool {
        withUnsafeTemporaryAllocation(of: Float.self, capacity: blockSize * 2) { memory in
            let real = UnsafeMutableBufferPointer(rebasing: memory[..<blockSize])
            let imaginary = UnsafeMutableBufferPointer(rebasing: memory[blockSize...])
            for index in 0..<blockSize {
                real[index] = Float(block[index]) * window[index]
                imaginary[index] = 0
            }
            fourier.transform(real, imaginary)
            let bins = blockSize / 2
            var total: Float = 0
            for bin in 0..<bins {
                // What lies below 60 Hz is hum, not sound.
                real[bin] = bin < 2 ? 0 : real[bin] * real[bin] + imaginary[bin] * imaginary[bin]
                total += real[bin]
            }
            guard total > 0 else { return false }
            var inPeaks: Float = 0
            for _ in 0..<3 {
                var peak = 0
                for bin in 0..<bins where real[bin] > real[peak] { peak = bin }
                for bin in max(0, peak - 2)...min(bins - 1, peak + 2) {
                    inPeaks += real[bin]
                    real[bin] = 0
                }
                if inPeaks > 0.97 * total { return true }
            }
            return false
        }
    }
}
