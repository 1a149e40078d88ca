// Correlation: found where it is, whatever its level; not found where it isn't.

import Audio
import Testing

@Suite struct CorrelationTests {
    private let sweep = Signal.samples(Signal.sweep(rate: 8000, seconds: 0.7))

    @Test func theLagIsExact() {
        for lag in [0, 1, 777, 12_345] {
            let heard = Signal.noise(lag, level: -20) + sweep + Signal.noise(3000, level: -20, seed: 9)
            let match = Correlation.search(sweep, in: heard, overlap: 1)
            #expect(match.lag == lag && match.peak > 0.9999)
        }
    }

    @Test func levelAndPolarityAreNoMatter() {
        let quiet = AudioClip(samples: sweep, rate: 8000).amplified(by: -30).samples
        #expect(Correlation.search(sweep, in: [0, 0, 0] + quiet).peak > 0.99)
        let turned = Correlation.search(sweep, in: sweep.map { -$0 })
        #expect(turned.lag == 0 && turned.peak < -0.999)
    }

    @Test func aPromptThatWasCutIsFoundByItsPart() {
        let start = Correlation.search(sweep, in: Array(sweep.dropFirst(1000)), overlap: 0.5)
        #expect(start.lag == -1000 && start.peak > 0.999)
        let end = Correlation.search(sweep, in: [Int16](repeating: 0, count: 100) + sweep.prefix(4000), overlap: 0.5)
        #expect(end.lag == 100 && end.peak > 0.999)
        // Where the whole is asked for, a part is not enough.
        #expect(abs(Correlation.search(sweep, in: Array(sweep.dropFirst(1000)), overlap: 1).peak) < 0.5)
    }

    @Test func otherSoundIsNotFound() {
        #expect(abs(Correlation.search(sweep, in: Signal.noise(20_000, level: -10)).peak) < 0.3)
        #expect(Correlation.search(sweep, in: [Int16](repeating: 0, count: 20_000)).peak == 0)
        #expect(Correlation.search([], in: sweep).peak == 0)
        #expect(Correlation.search(sweep, in: []).peak == 0)
    }

    @Test func noiseLowersThePeakAsItShould() {
        // As much noise as signal: 1 / sqrt(2).
        let level = AudioClip(samples: sweep, rate: 8000).level
        let match = Correlation.search(sweep, in: Signal.sum(sweep, Signal.noise(sweep.count, level: level)), overlap: 1)
        #expect(abs(match.peak - 0.707) < 0.03 && match.lag == 0)
    }
}
