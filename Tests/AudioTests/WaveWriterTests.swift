// WAV files that are valid at every moment: each state of the file is read again by libsndfile.

import Audio
import Glibc
import Testing

@Suite struct WaveWriterTests {
    private func append(_ writer: WaveWriter, _ samples: [Int16]) -> Bool {
        samples.withUnsafeBufferPointer { writer.append($0) }
    }

    private func bytes(_ path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        var content = [UInt8](repeating: 0, count: 1 << 20)
        return Array(content.prefix(max(0, read(descriptor, &content, content.count))))
    }

    @Test(arguments: [1, 2]) func theFileIsValidAfterEachWrite(channels: Int) throws {
        let folder = TemporaryFolder()
        let path = folder.file("recording.wav")
        let writer = try WaveWriter(path: path, rate: 8000, channels: channels)
        #expect(throws: PromptError.empty(path: path)) { try PromptFile.read(path) }
        let samples = Signal.noise(1600 * channels, level: -10)
        var all: [Int16] = []
        for _ in 0..<5 {
            #expect(append(writer, samples) && writer.flush())
            all += samples
            for channel in 0..<channels {
                let expected = stride(from: channel, to: all.count, by: channels).map { all[$0] }
                #expect(try PromptFile.read(path, channel: channel).samples == expected)
            }
        }
        let result = writer.finish()
        #expect(result.frames == 8000 && result.length == .seconds(1) && result.error == nil)
        #expect(result.bytes == 44 + 16000 * channels && bytes(path).count == result.bytes)
    }

    /// A killed process: the samples of its last write are there, the header doesn't know them yet.
    @Test func samplesBehindTheHeadersEndAreSkipped() throws {
        let folder = TemporaryFolder()
        let path = folder.file("killed.wav")
        let writer = try WaveWriter(path: path, rate: 8000, channels: 1)
        #expect(append(writer, [1, 2, 3]) && writer.flush())
        let descriptor = open(path, O_WRONLY | O_APPEND)
        #expect(write(descriptor, "garbage", 7) == 7)
        close(descriptor)
        #expect(try PromptFile.read(path).samples == [1, 2, 3])
        // The writer puts its next samples over it.
        #expect(append(writer, [4, 5]))
        #expect(writer.frames == 5)
        #expect(writer.finish().frames == 5)
        #expect(try PromptFile.read(path).samples == [1, 2, 3, 4, 5])
    }

    @Test func theChecksumIsTheFiles() throws {
        let folder = TemporaryFolder()
        let path = folder.file("sum.wav")
        let writer = try WaveWriter(path: path, rate: 8000, channels: 1)
        #expect(append(writer, [Int16](repeating: 0, count: 8)))
        // sha256sum of 44 octets of header and 16 zeros.
        #expect(writer.finish().checksum == "86b5f5a4a69b226cef532cb4019df8ff0c08a804fa919af5d116e6e257cd9eac")
    }

    @Test func foldersAreMadeOnlyWhenAsked() throws {
        let folder = TemporaryFolder()
        let path = folder.file("a/b/c.wav")
        do {
            _ = try WaveWriter(path: path, rate: 8000, channels: 1, makesFolders: false)
            Issue.record("a file in no folder")
        } catch {
            guard case .cannotCreate(path, _) = error else {
                Issue.record("\(error)")
                return
            }
        }
        _ = try WaveWriter(path: path, rate: 8000, channels: 1).finish()
        #expect(throws: PromptError.empty(path: path)) { try PromptFile.read(path) }
        unlink(path)
        rmdir(folder.file("a/b"))
        rmdir(folder.file("a"))
    }

    @Test func linksAreNotFollowed() {
        let folder = TemporaryFolder()
        symlink(folder.file("elsewhere.wav"), folder.file("link.wav"))
        #expect(throws: AudioFileError.self) { try WaveWriter(path: folder.file("link.wav"), rate: 8000, channels: 1) }
    }

    @Test func aFullDiskIsAValue() {
        // /dev/full refuses every write as a full disk does.
        #expect(throws: AudioFileError.cannotCreate(path: "/dev/full", reason: "No space left on device")) {
            try WaveWriter(path: "/dev/full", rate: 8000, channels: 1)
        }
    }

    @Test func afterTheEndNothingIsTaken() throws {
        let folder = TemporaryFolder()
        let path = folder.file("closed.wav")
        let writer = try WaveWriter(path: path, rate: 8000, channels: 2)
        #expect(append(writer, [1, 2, 3, 4]))
        #expect(writer.finish().frames == 2)
        #expect(!append(writer, [5, 6]) && !writer.flush())
        #expect(try PromptFile.read(path, channel: 1).samples == [2, 4])
    }
}
