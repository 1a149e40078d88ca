// Encoded prompts by what they were made from. It does not read files by itself unless asked to: `PromptVariant.load`
// does the slow part. One owner keeps it (a worker, or a lock around it while `load` runs outside of the lock).

/// One way in which a prompt file is played: the key of the cache, and all that is needed to make it.
package struct PromptVariant: Hashable, Sendable {
    package var path: String
    package var codec: AudioCodec
    /// In milliseconds.
    package var packetTime: Int
    /// In dB; 0 leaves it as it is.
    package var volume: Double
    /// Where in the file to begin and to end, both from its start.
    package var from: Duration
    package var until: Duration?

    package init(
        path: String, codec: AudioCodec, packetTime: Int = 20, volume: Double = 0, from: Duration = .zero, until: Duration? = nil
    ) {
        self.path = path
        self.codec = codec
        self.packetTime = packetTime
        self.volume = volume
        self.from = from
        self.until = until
    }

    /// The file that is read: `path`, or the one beside it that is encoded already where the codec cannot be encoded.
    package var source: String { codec.isCoded ? path : G729File.beside(path) ?? path }

    /// Reads, resamples and encodes the file. Blocks: for a worker.
    package func load(limits: PromptLimits = PromptLimits()) throws(PromptError) -> EncodedPrompt {
        guard codec.isCoded else { return try loadFrames(limits) }
        guard !G729File.isOne(path) else { throw .unfit(path: path, reason: "G.729 is played only in calls that speak it") }
        let clip = try PromptFile.read(path, limits: limits).part(from: from, until: until)
        guard !clip.samples.isEmpty else { throw .empty(path: path) }
        // Resampled first: so it is louder by exactly as much as was asked, whatever the rate.
        return EncodedPrompt(clip.resampled(to: codec.sampleRate).amplified(by: volume), codec: codec, packetTime: packetTime)
    }
}

extension PromptVariant {
    /// Frames as they are.
    private func loadFrames(_ limits: PromptLimits) throws(PromptError) -> EncodedPrompt {
        guard G729File.isOne(source) else {
            throw .unfit(
                path: path,
                reason: "the call speaks \(codec.name), into which nothing is encoded; put a file .g729 of this name beside it")
        }
        guard volume == 0 else { throw .unfit(path: source, reason: "\(codec.name) is played as it is, and no louder or softer") }
        let frames = try G729File.read(source, limits: limits)
        func octets(_ time: Duration) -> Int { min(AudioClip.samples(in: time, rate: 100) * G729File.frame, frames.count) }
        let first = octets(from)
        let end = until.map(octets) ?? frames.count
        guard first < end else { throw .empty(path: source) }
        return EncodedPrompt(frames: frames[first..<end], of: G729File.frame, codec: codec, packetTime: packetTime)
    }
}

/// Keeps encoded prompts up to a number of bytes; the one that was longest unused goes first. A value: whoever holds it
/// may use it, calls keep what they play by reference.
package struct PromptCache: Sendable {
    private struct Entry: Sendable {
        var stamp: FileStamp
        var prompt: EncodedPrompt
        var used: UInt64
    }

    /// The most bytes that it keeps. A prompt larger than this is made, but not kept.
    package let budget: Int
    package private(set) var memory = 0
    package private(set) var hits = 0
    package private(set) var misses = 0
    package private(set) var evictions = 0
    private var entries: [PromptVariant: Entry] = [:]
    private var clock: UInt64 = 0

    package init(budget: Int = 64 << 20) {
        self.budget = budget
    }

    package var count: Int { entries.count }

    /// What is kept for `variant`, when the file still is as it was; an older state of the file is forgotten.
    package mutating func find(_ variant: PromptVariant, stamp: FileStamp) -> EncodedPrompt? {
        guard let entry = entries[variant] else {
            misses += 1
            return nil
        }
        guard entry.stamp == stamp else {
            remove(variant)
            misses += 1
            return nil
        }
        clock += 1
        hits += 1
        entries[variant]?.used = clock
        return entry.prompt
    }

    /// Keeps a prompt, and drops what was longest unused until the budget holds.
    package mutating func insert(_ prompt: EncodedPrompt, for variant: PromptVariant, stamp: FileStamp) {
        remove(variant)
        guard prompt.memory <= budget else { return }
        while memory + prompt.memory > budget, let oldest = entries.min(by: { $0.value.used < $1.value.used }) {
            remove(oldest.key)
            evictions += 1
        }
        clock += 1
        entries[variant] = Entry(stamp: stamp, prompt: prompt, used: clock)
        memory += prompt.memory
    }

    /// What is kept, or the file read, encoded and kept. Blocks: for a worker that owns the cache.
    package mutating func prompt(
        _ variant: PromptVariant, limits: PromptLimits = PromptLimits()
    ) throws(PromptError) -> EncodedPrompt {
        let stamp = try FileStamp(path: variant.source)
        if let prompt = find(variant, stamp: stamp) { return prompt }
        let prompt = try variant.load(limits: limits)
        insert(prompt, for: variant, stamp: stamp)
        return prompt
    }

    private mutating func remove(_ variant: PromptVariant) {
        if let entry = entries.removeValue(forKey: variant) { memory -= entry.prompt.memory }
    }
}
