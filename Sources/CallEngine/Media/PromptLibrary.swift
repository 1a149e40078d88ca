// The encoded prompts and tones of one loop. Reading and encoding is the workers' job; many sessions that ask for the same one wait
// for one load. A file is looked at again when the last look is older than a second, so a changed one is heard from then on.

import Audio
import Basics
import Reactor

/// What can be played, as it goes over the wire.
enum PromptKey: Hashable, Sendable {
    case file(PromptVariant)
    /// `seamless`: whole cadences in whole packets, to be played over and over; else one cadence.
    case tone(Tone, level: Double, seamless: Bool, codec: Audio.AudioCodec, packetTime: Int)

    /// Blocks: for a worker.
    func make(_ cache: Locked<PromptCache>) throws -> EncodedPrompt {
        switch self {
        case .file(let variant):
            let stamp = try FileStamp(path: variant.source)
            if let kept = cache.withLock({ $0.find(variant, stamp: stamp) }) { return kept }
            let prompt = try variant.load()
            cache.withLock { $0.insert(prompt, for: variant, stamp: stamp) }
            return prompt
        case .tone(let tone, let level, let seamless, let codec, let packetTime):
            guard !seamless, let cadence = tone.cadence else {
                return EncodedPrompt(looping: tone, level: level, codec: codec, packetTime: packetTime)
            }
            let clip = ToneGenerator.clip(tone, level: level, rate: codec.sampleRate, length: cadence)
            return EncodedPrompt(clip, codec: codec, packetTime: packetTime)
        }
    }
}

/// A prompt, or why there is none: a text that names the file.
enum PromptOutcome {
    case ready(EncodedPrompt)
    case failed(String)
}

final class PromptLibrary {
    private struct Known {
        var prompt: EncodedPrompt
        /// `never`: it cannot change.
        var goodUntil: Instant
    }

    private static let recheck = Duration.seconds(1)
    private static let mostKnown = 256

    let loop: EventLoop
    let workers: MediaWorkers
    private var known: [PromptKey: Known] = [:]
    private var waiting: [PromptKey: [(PromptOutcome) -> Void]] = [:]

    init(loop: EventLoop, workers: MediaWorkers) {
        self.loop = loop
        self.workers = workers
    }

    /// Calls `taken` with the prompt: at once when it is known, else when it is loaded.
    func load(_ key: PromptKey, _ taken: @escaping (PromptOutcome) -> Void) {
        if let found = known[key], loop.now < found.goodUntil {
            taken(.ready(found.prompt))
            return
        }
        if waiting[key] != nil {
            waiting[key]?.append(taken)
            return
        }
        waiting[key] = [taken]
        let cache = workers.cache
        loop.spawn { [self] in
            do {
                let prompt = try await workers.prompts.run(on: loop) { try key.make(cache) }
                keep(prompt, for: key)
                finish(key, .ready(prompt))
            } catch let error as PromptError {
                finish(key, .failed(error.description))
            } catch {
                finish(key, .failed("\(key.label): too many prompts are being loaded"))
            }
        }
    }

    func forget() {
        known = [:]
        waiting = [:]
    }

    private func keep(_ prompt: EncodedPrompt, for key: PromptKey) {
        if known.count >= Self.mostKnown {
            let now = loop.now
            known = known.filter { $0.value.goodUntil > now && $0.value.goodUntil != .never }
        }
        switch key {
        case .file: known[key] = Known(prompt: prompt, goodUntil: loop.now + Self.recheck)
        case .tone: known[key] = Known(prompt: prompt, goodUntil: .never)
        }
    }

    private func finish(_ key: PromptKey, _ outcome: PromptOutcome) {
        for taken in waiting.removeValue(forKey: key) ?? [] { taken(outcome) }
    }
}

extension PromptKey {
    fileprivate var label: String {
        switch self {
        case .file(let variant): variant.path
        case .tone: "tone"
        }
    }
}
