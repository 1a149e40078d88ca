// The background's level, followed over time: sound is what stands out above it.

/// Follows the noise floor of a stream of block levels.
struct LevelTracker {
    /// Sound is never quieter than this, in dBm0.
    let threshold: Double
    /// By how many dB sound stands out above the floor.
    let margin: Double
    /// The background, in dBm0.
    private(set) var floor: Double

    init(threshold: Double, margin: Double) {
        self.threshold = threshold
        self.margin = margin
        floor = threshold - margin
    }

    /// Takes the next block's level; answers whether the block is sound.
    mutating func isSound(_ level: Double, blockSeconds: Double) -> Bool {
        let level = max(level, -80)
        if level < floor {
            // Down within about 100 ms: pauses between words show what the background is.
            floor += (level - floor) * min(1, blockSeconds / 0.1)
        } else {
            // Up slowly, 1 dB a second: so a word doesn't raise it, and a fan that starts is background after a while.
            floor = min(floor + blockSeconds, level)
        }
        // Even a loud background leaves room for loud speech.
        return level > max(threshold, min(floor, -20) + margin)
    }
}
