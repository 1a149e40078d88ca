// Recordings as Opus and FLAC: what is in the file at each moment can be played, its end is exact, and what goes wrong is told. Where
// `flac` and `opusinfo` are installed they judge.

import Audio
import Foundation
import Glibc
import Testing

@Suite struct AudioFileWriterTests {
    private static let shapes = [(8000, 1), (8000, 2), (16000, 1), (48000, 2)]

    private static func speech(_ rate: Int) throws -> [Int16] {
        try PromptFile.read("\(CommittedPromptsTests.folder)/voicemail-greeting.wav").resampled(to: rate).samples
    }

    private static func begin(
        _ format: AudioFileFormat, _ shape: (rate: Int, channels: Int), in folder: TemporaryFolder
    ) throws -> (path: String, speech: [Int16], writer: any AudioFileWriter) {
        let path = folder.file("recording.\(format)")
        return (path, try speech(shape.rate), try format.writer(path: path, rate: shape.rate, channels: shape.channels))
    }

    /// The right channel is the left one half as loud.
    private static func interleaved(_ samples: [Int16], _ channels: Int) -> [Int16] {
        channels == 1 ? samples : samples.flatMap { [$0, $0 / 2] }
    }

    /// Gives the samples in pieces of half a second; `between` is called after each.
    private static func write(
        _ writer: any AudioFileWriter, _ samples: [Int16], _ rate: Int, _ channels: Int, between: (Int) throws -> Void = { _ in }
    ) throws {
        var done = 0
        while done < samples.count {
            let count = min(rate / 2, samples.count - done)
            interleaved(Array(samples[done..<done + count]), channels).withUnsafeBufferPointer { _ = writer.append($0) }
            #expect(writer.flush())
            done += count
            try between(done)
        }
    }

    @Test(arguments: [AudioFileFormat.opus, .flac], shapes) func whatWasWrittenIsHeard(
        format: AudioFileFormat, shape: (rate: Int, channels: Int)
    ) throws {
        let folder = TemporaryFolder()
        let (path, speech, writer) = try Self.begin(format, shape, in: folder)
        try Self.write(writer, speech, shape.rate, shape.channels)
        let result = writer.finish()
        #expect(result.error == nil && result.frames == speech.count && result.path == path)
        #expect(result.bytes == Int(try FileStamp(path: path).size))
        #expect(result.checksum.count == 64)
        for channel in 0..<shape.channels {
            let clip = try PromptFile.read(path, channel: channel)
            #expect(clip.rate == shape.rate && clip.samples.count == speech.count, "the length is exact")
            if format == .flac {
                let isWhole = clip.samples == (channel == 0 ? speech : speech.map { $0 / 2 })
                #expect(isWhole, "FLAC loses nothing")
            } else {
                let match = Correlation.search(speech, in: clip.samples)
                #expect(match.peak > 0.95 && abs(match.lag) <= 1, "\(match)")
            }
        }
        // Speech at 32 kbit/s a channel, where WAV has 16 bits a sample.
        if format == .opus {
            let bits = Double(result.bytes * 8 * shape.rate) / Double(speech.count * shape.channels)
            #expect((12_000...48_000).contains(bits), "\(bits) bits a second")
        }
    }

    /// A killed process leaves the file as it is between two writes: all but the last second can be played.
    @Test(arguments: [AudioFileFormat.opus, .flac], shapes) func theFileIsValidAtEveryMoment(
        format: AudioFileFormat, shape: (rate: Int, channels: Int)
    ) throws {
        let folder = TemporaryFolder()
        let (path, speech, writer) = try Self.begin(format, shape, in: folder)
        // Nothing was said yet: the heads of the format (libsndfile reads no Ogg without a page of sound).
        #expect(throws: PromptError.self) { try PromptFile.read(path) }
        #expect(try FileStamp(path: path).size > 0)
        try Self.write(writer, speech, shape.rate, shape.channels) { done in
            guard done > shape.rate else { return }
            let heard = try PromptFile.read(path, channel: 0).samples
            #expect(done - heard.count <= shape.rate, "\(Double(done - heard.count) / Double(shape.rate)) s are missing")
            let part = Array(speech[..<min(heard.count, speech.count)])
            #expect(Correlation.search(part, in: heard).peak > 0.9)
        }
        #expect(writer.finish().error == nil)
    }

    @Test(arguments: AudioFileFormat.allCases) func aFullDiskIsAValue(format: AudioFileFormat) {
        // /dev/full refuses every write as a full disk does.
        #expect(throws: AudioFileError.cannotCreate(path: "/dev/full", reason: "No space left on device")) {
            try format.writer(path: "/dev/full", rate: 8000, channels: 1)
        }
    }

    /// In a process of its own, since the limit is the process's.
    @Test func aDiskThatFillsUpLeavesWhatIsThere() async {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            var before = rlimit()
            getrlimit(__rlimit_resource_t(1), &before)  // RLIMIT_FSIZE
            var limit = rlimit(rlim_cur: 30_000, rlim_max: before.rlim_max)
            setrlimit(__rlimit_resource_t(1), &limit)
            // What the test itself reports goes through a file too.
            defer { setrlimit(__rlimit_resource_t(1), &before) }
            for format in AudioFileFormat.allCases {
                let folder = TemporaryFolder()
                let path = folder.file("full.\(format)")
                let writer = try format.writer(path: path, rate: 8000, channels: 1)
                let noise = Signal.noise(80_000, level: -20)
                for second in 0..<10 {
                    noise[second * 8000..<(second + 1) * 8000].withUnsafeBufferPointer { _ = writer.append($0) }
                    _ = writer.flush()
                }
                let result = writer.finish()
                #expect(result.error == .cannotWrite(path: path, reason: "File too large"))
                #expect(result.bytes <= 30_000)
                #expect(try PromptFile.read(path).samples.count > 8000, "\(format)")
            }
        }
    }

    @Test func theNameSaysTheFormat() {
        for (name, format) in [
            ("a/b.wav", AudioFileFormat.wav), ("a.opus", .opus), ("A.OGG", .opus), ("a.b.flac", .flac), ("full", .wav),
            ("x.1", .wav)
        ] {
            #expect(AudioFileFormat(path: name) == format, "\(name)")
        }
    }

    // MARK: Judges

    private static func isInstalled(_ program: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/\(program)")
    }

    private static func judge(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/\(program)")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    private static func recorded(_ format: AudioFileFormat, _ folder: TemporaryFolder) throws -> String {
        let path = folder.file("judged.\(format)")
        let writer = try format.writer(path: path, rate: 8000, channels: 2)
        try write(writer, try speech(8000), 8000, 2)
        #expect(writer.finish().error == nil)
        return path
    }

    @Test(.enabled(if: isInstalled("flac"), "flac is not installed")) func flacTakesIt() throws {
        let folder = TemporaryFolder()
        let judgement = try Self.judge("flac", ["-t", try Self.recorded(.flac, folder)])
        #expect(judgement.status == 0 && !judgement.output.contains("WARNING"), "\(judgement.output)")
    }

    @Test(.enabled(if: isInstalled("opusinfo"), "opusinfo is not installed")) func opusinfoTakesIt() throws {
        let folder = TemporaryFolder()
        let path = try Self.recorded(.opus, folder)
        let judgement = try Self.judge("opusinfo", [path])
        #expect(judgement.status == 0 && !judgement.output.lowercased().contains("warning"), "\(judgement.output)")
        let seconds = Double(try PromptFile.read(path).samples.count) / 8000
        let playback = judgement.output.firstMatch(of: /Playback length: 0m:(\d+\.\d+)s/)
        #expect(abs((playback.flatMap { Double($0.1) } ?? 0) - seconds) < 0.02, "\(judgement.output)")
    }
}
