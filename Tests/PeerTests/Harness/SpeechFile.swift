// What a phone says: a WAV file at the codecs' rate. A phone's own resampler may move the sound by half a sample, and speech moved so is
// no longer found by correlation.

import Audio
import Foundation

enum SpeechFile {
    /// Writes a prompt of the project at `rate` Hz, with silence before and behind it.
    static func write(_ prompt: String, after: Duration = .zero, room: Duration, rate: Int = 8000, to path: String) throws {
        let speech = try PromptFile.read(Files.prompt(prompt)).resampled(to: rate)
        let samples = AudioClip.silence(after, rate: rate).samples + speech.samples + AudioClip.silence(room, rate: rate).samples
        var bytes = Data("RIFF".utf8)
        func add(_ value: UInt32) { withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) } }
        func add(_ value: UInt16) { withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) } }
        let size = UInt32(samples.count * 2)
        add(36 + size)
        bytes.append(Data("WAVEfmt ".utf8))
        add(UInt32(16))
        add(UInt16(1))
        add(UInt16(1))
        add(UInt32(rate))
        add(UInt32(rate * 2))
        add(UInt16(2))
        add(UInt16(16))
        bytes.append(Data("data".utf8))
        add(size)
        samples.withUnsafeBytes { bytes.append(contentsOf: $0) }
        try bytes.write(to: URL(fileURLWithPath: path))
    }
}
