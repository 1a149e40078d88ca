// Files of many formats, and files that are wrong.

import Audio
import CSndFile
import Glibc
import Testing

@Suite struct PromptFileTests {
    struct Format: Sendable, CustomTestStringConvertible {
        var name: String
        var format: Int
        var rate: Int
        var channels: Int
        /// Debian's libsndfile writes it: a test that skips it would prove nothing.
        var testDescription: String { "\(name) \(rate) Hz, \(channels) channels" }
    }

    static let formats: [Format] = {
        let kinds: [(String, Int)] = [
            ("16.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16), ("24.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24),
            ("float.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT), ("8.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8),
            ("alaw.wav", SF_FORMAT_WAV | SF_FORMAT_ALAW), ("ulaw.au", SF_FORMAT_AU | SF_FORMAT_ULAW),
            ("x.wav", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16), ("x.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16),
            ("x.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS), ("x.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16)
        ]
        let rates = [8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000]
        return kinds.enumerated().flatMap { index, kind in
            // Each kind at its own rates; every rate, mono and stereo, comes up.
            [0, 3, 6].map { step in
                Format(
                    name: kind.0, format: kind.1, rate: rates[(index + step) % rates.count], channels: (index + step / 3) % 2 + 1)
            }
        } + [
            Format(name: "x.mp3", format: SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, rate: 44100, channels: 2),
            Format(name: "x.opus", format: SF_FORMAT_OGG | SF_FORMAT_OPUS, rate: 48000, channels: 1),
            Format(name: "six.wav", format: SF_FORMAT_WAV | SF_FORMAT_PCM_16, rate: 48000, channels: 6)
        ]
    }()

    @Test(arguments: formats) func isReadAndSoundsTheSameAt8kHz(format: Format) throws {
        let folder = TemporaryFolder()
        let path = folder.file(format.name)
        let values = Signal.sweep(rate: format.rate)
        #expect(writeFile(path, values, rate: format.rate, channels: format.channels, format: format.format))
        let clip = try PromptFile.read(path)
        #expect(clip.rate == format.rate)
        let original = Signal.samples(Signal.sweep(rate: 8000))
        let heard = clip.resampled(to: 8000)
        let match = Correlation.search(original, in: heard.samples, overlap: 0.95)
        #expect(match.peak > 0.98)
        // MP3's encoder puts up to 1200 samples in front.
        #expect(abs(match.lag) <= (format.name == "x.mp3" ? 300 : 1))
        let level = AudioClip(samples: original, rate: 8000).level
        #expect(abs(heard.level - level) < 0.7)
    }

    @Test(arguments: formats) func aFileThatIsCutShortIsKnownWhereItsFormatTells(format: Format) throws {
        let folder = TemporaryFolder()
        let path = folder.file(format.name)
        #expect(
            writeFile(
                path, Signal.sweep(rate: format.rate), rate: format.rate, channels: format.channels, format: format.format))
        #expect(try PromptFile.isCutShort(path) == false)
        var octets = try octets(of: path)
        let half = folder.write("half-\(format.name)", Array(octets.prefix(octets.count / 2)))
        if format.name == "x.mp3" { return #expect(try PromptFile.isCutShort(half) == false) }
        // Some formats are of no use at all without their end.
        #expect((try? PromptFile.isCutShort(half)) != false)
        guard format.name.hasSuffix(".wav") else { return }
        // What a program wrote to a pipe, where it could not go back to put the lengths in.
        octets.replaceSubrange(4..<8, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(try PromptFile.isCutShort(folder.write("piped-\(format.name)", octets)) == false)
    }

    private func octets(of path: String) throws -> [UInt8] {
        let descriptor = try #require(fopen(path, "r"))
        defer { fclose(descriptor) }
        var octets = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&octets, 1, octets.count, descriptor)
        return Array(octets.prefix(count))
    }

    @Test func resamplingKeepsLengthAndPlace() {
        for (from, to) in [(16000, 8000), (8000, 48000), (44100, 8000), (22050, 16000), (8000, 16000)] {
            let converted = AudioClip(samples: Signal.samples(Signal.sweep(rate: from)), rate: from).resampled(to: to)
            #expect(converted.samples.count == to * 3 / 2)
            let match = Correlation.search(Signal.samples(Signal.sweep(rate: to)), in: converted.samples, overlap: 0.95)
            #expect(match.peak > 0.99 && match.lag == 0, "\(from) to \(to): \(match)")
        }
    }

    @Test func aStreamIsResampledAsAWholeIs() {
        let samples = Signal.samples(Signal.sweep(rate: 16000))
        let resampler = Resampler(from: 16000, to: 8000)
        var streamed: [Int16] = []
        samples.withUnsafeBufferPointer { samples in
            var output = [Int16](repeating: 0, count: resampler.maximumOutput(for: 320))
            for start in stride(from: 0, to: samples.count, by: 320) {
                let frame = UnsafeBufferPointer(rebasing: samples[start..<min(start + 320, samples.count)])
                let count = output.withUnsafeMutableBufferPointer { resampler.process(frame, into: $0) }
                streamed.append(contentsOf: output.prefix(count))
            }
        }
        let match = Correlation.search(Signal.samples(Signal.sweep(rate: 8000)), in: streamed, overlap: 0.9)
        #expect(match.peak > 0.99 && (0...50).contains(match.lag))
    }

    // MARK: What is wrong

    @Test func errorsNameTheFile() throws {
        let folder = TemporaryFolder()
        let missing = folder.file("nowhere.wav")
        #expect(throws: PromptError.missing(path: missing)) { try PromptFile.read(missing) }
        #expect(throws: PromptError.unreadable(path: folder.path, reason: "it is a folder")) { try PromptFile.read(folder.path) }
        let nothing = folder.write("nothing.wav", [])
        #expect(throws: PromptError.empty(path: nothing)) { try PromptFile.read(nothing) }
        let text = folder.write("text.wav", Array("This is no audio at all, only some words.".utf8))
        do {
            _ = try PromptFile.read(text)
            Issue.record("text was played")
        } catch {
            guard case .notAudio(text, _) = error else {
                Issue.record("\(error)")
                return
            }
            #expect("\(error)".hasPrefix(text))
        }
        let silent = folder.write("no-samples.wav", riff([("fmt ", Self.format(1, bits: 16)), ("data", [])]))
        #expect(throws: PromptError.empty(path: silent)) { try PromptFile.read(silent) }
    }

    @Test func aPipeDoesNotHoldTheWorker() {
        let folder = TemporaryFolder()
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(throws: PromptError.unreadable(path: pipe, reason: "it is not a file")) { try PromptFile.read(pipe) }
    }

    @Test func limitsHold() throws {
        let folder = TemporaryFolder()
        let path = folder.file("long.wav")
        #expect(
            writeFile(
                path, Signal.sweep(rate: 8000, seconds: 3), rate: 8000, channels: 1, format: SF_FORMAT_WAV | SF_FORMAT_PCM_16))
        #expect(throws: PromptError.tooLong(path: path, limit: "2 s")) {
            try PromptFile.read(path, limits: PromptLimits(length: .seconds(2)))
        }
        #expect(throws: PromptError.tooLong(path: path, limit: "1000 bytes")) {
            try PromptFile.read(path, limits: PromptLimits(bytes: 1000))
        }
        #expect(try PromptFile.read(path, limits: PromptLimits(length: .seconds(3))).length == .seconds(3))
    }

    @Test func floatsThatAreNoNumbersAreSilence() throws {
        let folder = TemporaryFolder()
        let values: [Float] = [.nan, .infinity, -.infinity, 0.5, 7, -7]
        let data = values.flatMap { little(Int($0.bitPattern), 4) }
        let path = folder.write("odd.wav", riff([("fmt ", Self.format(3, bits: 32)), ("data", data)]))
        #expect(try PromptFile.read(path).samples == [0, 0, 0, 16384, 32767, -32768])
    }

    // MARK: B119, B122

    static func format(_ tag: Int, bits: Int, size: Int = 16) -> [UInt8] {
        var chunk = little(tag, 2) + little(1, 2) + little(8000, 4) + little(8000 * bits / 8, 4) + little(bits / 8, 2)
        chunk += little(bits, 2)
        if size >= 18 { chunk += little(size - 18, 2) }
        return chunk + [UInt8](repeating: 0, count: size - chunk.count)
    }

    @Test(arguments: [16, 18, 40], [1, 3]) func b119FormatChunksOfEverySizeArePlayed(size: Int, tag: Int) throws {
        let folder = TemporaryFolder()
        let values = Signal.sweep(rate: 8000)
        let data =
            tag == 1
            ? Signal.samples(values).flatMap { little(Int($0), 2) } : values.flatMap { little(Int(Float($0).bitPattern), 4) }
        let file = riff([("fmt ", Self.format(tag, bits: tag == 1 ? 16 : 32, size: size)), ("data", data)])
        let clip = try PromptFile.read(folder.write("b119.wav", file))
        #expect(clip.rate == 8000)
        #expect(Correlation.search(Signal.samples(values), in: clip.samples).peak > 0.999)
    }

    @Test func b122DataBeforeFormatIsPlayedOrRefused() {
        let folder = TemporaryFolder()
        let samples = Signal.samples(Signal.sweep(rate: 8000))
        let data = samples.flatMap { little(Int($0), 2) }
        let path = folder.write("b122.wav", riff([("data", data), ("fmt ", Self.format(1, bits: 16))]))
        do {
            let clip = try PromptFile.read(path)
            #expect(clip.samples == samples)
        } catch {
            guard case .notAudio(path, let reason) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(!reason.isEmpty)
        }
    }

    @Test func aFileCutShortIsPlayedAsFarAsItGoes() throws {
        let folder = TemporaryFolder()
        let samples = Signal.samples(Signal.sweep(rate: 8000))
        let whole = riff([("fmt ", Self.format(1, bits: 16)), ("data", samples.flatMap { little(Int($0), 2) })])
        let path = folder.write("cut.wav", Array(whole.prefix(44 + 8000)))
        #expect(try PromptFile.read(path).samples == Array(samples.prefix(4000)))
    }
}
