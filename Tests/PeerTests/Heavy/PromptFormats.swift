// A prompt as files of nine formats, by libsndfile.

import Audio
import CSndFile
import TestKit

/// A format that prompts come in.
struct PromptFormat: CustomStringConvertible {
    var name: String
    var format: Int
    var rate: Int
    var channels: Int

    var description: String { "\(name), \(rate) Hz, \(channels) channels" }

    static let all = [
        PromptFormat(name: "16.wav", format: SF_FORMAT_WAV | SF_FORMAT_PCM_16, rate: 8000, channels: 1),
        PromptFormat(name: "stereo.wav", format: SF_FORMAT_WAV | SF_FORMAT_PCM_16, rate: 48000, channels: 2),
        PromptFormat(name: "24.wav", format: SF_FORMAT_WAV | SF_FORMAT_PCM_24, rate: 22050, channels: 1),
        PromptFormat(name: "float.wav", format: SF_FORMAT_WAV | SF_FORMAT_FLOAT, rate: 44100, channels: 1),
        PromptFormat(name: "alaw.wav", format: SF_FORMAT_WAV | SF_FORMAT_ALAW, rate: 8000, channels: 1),
        PromptFormat(name: "x.flac", format: SF_FORMAT_FLAC | SF_FORMAT_PCM_24, rate: 16000, channels: 2),
        PromptFormat(name: "x.ogg", format: SF_FORMAT_OGG | SF_FORMAT_VORBIS, rate: 32000, channels: 1),
        PromptFormat(name: "x.mp3", format: SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, rate: 44100, channels: 2),
        PromptFormat(name: "x.aiff", format: SF_FORMAT_AIFF | SF_FORMAT_PCM_16, rate: 24000, channels: 1)
    ]

    /// Writes a clip in this format, the same in all channels.
    func write(_ clip: AudioClip, in folder: TemporaryFolder) throws -> String {
        let path = folder.path(name)
        let samples = clip.resampled(to: rate).samples
        var info = SF_INFO()
        info.samplerate = Int32(rate)
        info.channels = Int32(channels)
        info.format = Int32(format)
        guard let file = sf_open(path, Int32(SFM_WRITE), &info) else { throw PeerError.missing("a library that writes \(self)") }
        defer { sf_close(file) }
        // In pieces: its Vorbis encoder keeps whole writes on the stack.
        for start in stride(from: 0, to: samples.count, by: 1024) {
            let piece = samples[start..<min(start + 1024, samples.count)]
            let frames = piece.flatMap { [Double](repeating: Double($0) / 32768, count: channels) }
            guard sf_writef_double(file, frames, sf_count_t(piece.count)) == sf_count_t(piece.count) else {
                throw PeerError.missing("room for \(path)")
            }
        }
        return path
    }
}
