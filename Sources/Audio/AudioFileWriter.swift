// The formats that recordings are written in. Each is one from which a player can read what is there at every moment, also when the
// process was killed:
//
//   WAV    16-bit PCM; the header is written anew with each flush (WaveWriter)
//   Opus   in Ogg (RFC 7845): the pages are whole in themselves, a player reads up to the last one
//   FLAC   frames are whole in themselves; the length in the header stays 0, "unknown", until the end

import Basics

/// A format of recordings; a file's name ends with it.
package enum AudioFileFormat: String, CaseIterable, Sendable {
    case wav
    case opus
    case flac

    /// The endings that choose a format, without the dot.
    package static let endings = ["wav", "opus", "ogg", "flac"]

    /// What the name's ending says, in either case; without one of these endings it is WAV.
    package init(path: String) {
        let ending = path.split(separator: ".").last?.lowercased() ?? ""
        self = ending == "ogg" ? .opus : AudioFileFormat(rawValue: ending) ?? .wav
    }

    /// Makes a file of this format; one that exists is replaced.
    /// - Parameters:
    ///   - rate: in Hz; Opus knows 8000, 12,000, 16,000, 24,000 and 48,000.
    ///   - channels: 1 or 2.
    ///   - makesFolders: whether missing folders of the path are made; else they are an error.
    package func writer(
        path: String, rate: Int, channels: Int, makesFolders: Bool = true
    ) throws(AudioFileError) -> any AudioFileWriter {
        switch self {
        case .wav: try WaveWriter(path: path, rate: rate, channels: channels, makesFolders: makesFolders)
        case .opus, .flac:
            try SoundFileWriter(self, path: path, rate: rate, channels: channels, makesFolders: makesFolders)
        }
    }
}

/// Writes one file. Belongs to the thread that writes.
package protocol AudioFileWriter: AnyObject {
    /// Samples for each channel that were taken.
    var frames: Int { get }
    /// The first thing that went wrong; nothing is written after it.
    var error: AudioFileError? { get }

    /// Takes samples, interleaved when there are two channels (a whole number of frames).
    /// - Returns: whether all is well so far.
    @discardableResult
    func append(_ samples: UnsafeBufferPointer<Int16>) -> Bool
    /// Puts what was kept into the file, as far as the format allows: Opus keeps up to half a second for its next page, FLAC up to 4096
    /// frames. Called often enough: what is kept is lost with a killed process.
    @discardableResult
    func flush() -> Bool
    /// Writes the rest, closes the file and reads it once more for its checksum.
    func finish() -> AudioFileResult
}

extension AudioFileResult {
    init(_ output: AudioFileOutput, frames: Int, rate: Int) {
        let checksum = output.close()
        self.init(
            path: output.path, frames: frames, length: .nanoseconds(Int64(frames) * 1_000_000_000 / Int64(rate)),
            bytes: output.size,
            checksum: checksum, error: output.error)
    }
}
