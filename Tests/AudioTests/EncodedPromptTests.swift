// Prompts that are encoded once, and the cache that shares them.

import Audio
import CSndFile
import Glibc
import Testing

@Suite struct EncodedPromptTests {
    static func decode(_ prompt: EncodedPrompt) -> [Int16] {
        var samples: [Int16] = []
        let decoder = FrameDecoder(prompt.codec)
        for packet in 0..<prompt.packetCount {
            var payload = [UInt8](repeating: 0, count: prompt.range(ofPacket: packet).count)
            let length = payload.withUnsafeMutableBytes { prompt.copyPayload(packet, to: $0) }
            #expect(length == payload.count)
            payload.withUnsafeBytes { payload in
                var frame = [Int16](repeating: 0, count: decoder.maximumSamples(in: payload))
                let count = frame.withUnsafeMutableBufferPointer { decoder.decode(payload, into: $0) }
                samples.append(contentsOf: frame.prefix(count))
            }
        }
        return samples
    }

    @Test(arguments: AudioCodec.all, [10, 20, 30, 40, 60]) func soundsAsTheClipDoes(codec: AudioCodec, packetTime: Int) {
        let packetTime = codec.packetTime(atMost: packetTime)
        let clip = AudioClip(samples: Signal.samples(Signal.sweep(rate: 16000, seconds: 1.01)), rate: 16000)
        let prompt = EncodedPrompt(clip, codec: codec, packetTime: packetTime)
        // What an Opus encoder holds back may take a packet more.
        let packets = (1010 + packetTime - 1) / packetTime
        #expect(prompt.packetCount == packets || (prompt.packetCount == packets + 1 && codec.name == "opus"))
        #expect(prompt.length == .milliseconds(1010))
        for packet in 0..<prompt.packetCount {
            let octets = prompt.range(ofPacket: packet).count
            if case .opus = codec { continue }
            #expect(octets == codec.usualBytes(inMilliseconds: packetTime))
        }
        let heard = Self.decode(prompt)
        let rate = codec.sampleRate
        #expect(heard.count == prompt.packetCount * codec.samples(inMilliseconds: packetTime))
        let match = Correlation.search(Signal.samples(Signal.sweep(rate: rate, seconds: 1.01)), in: heard)
        #expect(match.peak > (codec.law == nil ? 0.95 : 0.995), "\(codec.description): \(match)")
        #expect((0...rate / 100).contains(match.lag), "\(codec.description): \(match)")
        // Filled up with silence, and G.711 exactly so.
        guard codec.law != nil else { return }
        for sample in heard[8080...] { #expect(abs(Int(sample)) <= 8) }
    }

    @Test func nothingIsNoPacket() {
        #expect(EncodedPrompt(AudioClip(samples: [], rate: 8000), codec: .pcmu).packetCount == 0)
    }

    @Test func variantsAreEncodedAsAsked() throws {
        let folder = TemporaryFolder()
        let path = folder.file("prompt.wav")
        #expect(writeFile(path, Signal.sweep(rate: 16000), rate: 16000, channels: 1, format: SF_FORMAT_WAV | SF_FORMAT_PCM_16))
        let plain = try PromptVariant(path: path, codec: .pcma).load()
        #expect(plain.packetCount == 75)
        let softer = try PromptVariant(path: path, codec: .pcma, volume: -6).load()
        let levels = [plain, softer].map { AudioClip(samples: Self.decode($0), rate: 8000).level }
        #expect(abs(levels[0] - levels[1] - 6) < 0.1)
        let part = try PromptVariant(path: path, codec: .pcma, from: .milliseconds(500), until: .milliseconds(900)).load()
        #expect(part.length == .milliseconds(400))
        let match = Correlation.search(Self.decode(part), in: Self.decode(plain), overlap: 1)
        #expect(abs(match.lag - 4000) <= 1 && match.peak > 0.99)
        #expect(throws: PromptError.empty(path: path)) {
            try PromptVariant(path: path, codec: .pcma, from: .seconds(5)).load()
        }
    }

    // MARK: The cache

    private func make(_ folder: TemporaryFolder, _ name: String, _ seconds: Double) -> String {
        let path = folder.file(name)
        #expect(
            writeFile(
                path, Signal.sweep(rate: 8000, seconds: seconds), rate: 8000, channels: 1,
                format: SF_FORMAT_WAV | SF_FORMAT_PCM_16))
        return path
    }

    @Test func aPromptIsSharedUntilItsFileChanges() throws {
        let folder = TemporaryFolder()
        let path = make(folder, "a.wav", 1)
        var cache = PromptCache()
        let first = try cache.prompt(PromptVariant(path: path, codec: .pcmu))
        #expect(try cache.prompt(PromptVariant(path: path, codec: .pcmu)) === first)
        #expect(try cache.prompt(PromptVariant(path: path, codec: .pcma)) !== first)
        #expect(try cache.prompt(PromptVariant(path: path, codec: .pcmu, packetTime: 30)) !== first)
        #expect(try cache.prompt(PromptVariant(path: path, codec: .pcmu, volume: -3)) !== first)
        #expect(cache.count == 4 && cache.hits == 1 && cache.misses == 4)
        _ = make(folder, "a.wav", 1.5)
        let changed = try cache.prompt(PromptVariant(path: path, codec: .pcmu))
        #expect(changed !== first && changed.packetCount == 75)
        unlink(path)
        #expect(throws: PromptError.missing(path: path)) { try cache.prompt(PromptVariant(path: path, codec: .pcmu)) }
        // The calls that play it keep it.
        #expect(first.packetCount == 50)
    }

    @Test func theBudgetHoldsAndTheLongestUnusedGoesFirst() throws {
        let folder = TemporaryFolder()
        let variants = (0..<4).map { PromptVariant(path: make(folder, "\($0).wav", 1), codec: .pcmu) }
        let size = try variants[0].load().memory
        var cache = PromptCache(budget: size * 3 + 10)
        for variant in variants[..<3] { _ = try cache.prompt(variant) }
        _ = try cache.prompt(variants[0])
        _ = try cache.prompt(variants[3])
        #expect(cache.count == 3 && cache.evictions == 1 && cache.memory == size * 3)
        let misses = cache.misses
        _ = try cache.prompt(variants[0])
        _ = try cache.prompt(variants[2])
        #expect(cache.misses == misses)
        _ = try cache.prompt(variants[1])
        #expect(cache.misses == misses + 1)
        // Larger than all: played, not kept.
        let large = PromptVariant(path: make(folder, "large.wav", 5), codec: .pcmu)
        #expect(try cache.prompt(large).packetCount == 250)
        #expect(cache.count == 3 && cache.memory <= cache.budget)
    }
}
