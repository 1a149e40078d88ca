// Writes Opus in Ogg and FLAC by libsndfile, which gets at the file through AudioFileOutput alone.

import Basics
import CSndFile
import Glibc

/// Writes one file.
final class SoundFileWriter: AudioFileWriter {
    private(set) var frames = 0
    var error: AudioFileError? { output.error }

    private let output: AudioFileOutput
    private let rate: Int
    private let channels: Int
    /// Where libsndfile writes next.
    private var position = 0
    private var file: OpaquePointer?

    /// Bits a second of Opus for each channel: speech is transparent with it.
    private static let bitRate = 32_000.0
    /// How much of the sound one page of Ogg holds at most, in milliseconds.
    private static let pageTime = 500.0

    init(
        _ format: AudioFileFormat, path: String, rate: Int, channels: Int, makesFolders: Bool
    ) throws(AudioFileError) {
        precondition(rate > 0 && (1...2).contains(channels), "rate and channels of a recording")
        self.rate = rate
        self.channels = channels
        output = try AudioFileOutput(path: path, makesFolders: makesFolders)
        var info = SF_INFO()
        info.samplerate = Int32(rate)
        info.channels = Int32(channels)
        info.format = Int32(format == .opus ? SF_FORMAT_OGG | SF_FORMAT_OPUS : SF_FORMAT_FLAC | SF_FORMAT_PCM_16)
        var access = SF_VIRTUAL_IO(
            get_filelen: { sf_count_t(SoundFileWriter.of($0).output.size) }, seek: { SoundFileWriter.of($2).seek($0, $1) },
            read: { SoundFileWriter.of($2).read($0, $1) }, write: { SoundFileWriter.of($2).write($0, $1) },
            tell: { sf_count_t(SoundFileWriter.of($0).position) })
        file = sf_open_virtual(&access, Int32(SFM_WRITE), &info, Unmanaged.passUnretained(self).toOpaque())
        guard let file else { throw .cannotCreate(path: path, reason: String(cString: sf_strerror(nil))) }
        if format == .opus {
            // Its scale goes from 256 to 6 kbit/s for each channel.
            var level = 1 - (Self.bitRate - 6000) / 250_000
            sf_command(file, Int32(SFC_SET_COMPRESSION_LEVEL), &level, Int32(MemoryLayout<Double>.size))
            var latency = Self.pageTime
            sf_command(file, Int32(SFC_SET_OGG_PAGE_LATENCY_MS), &latency, Int32(MemoryLayout<Double>.size))
        }
        // The heads of the format: an empty file is no file of it.
        sf_command(file, Int32(SFC_UPDATE_HEADER_NOW), nil, 0)
        if case .cannotWrite(_, let reason)? = error { throw .cannotCreate(path: path, reason: reason) }
    }

    deinit {
        if let file { sf_close(file) }
    }

    @discardableResult
    func append(_ samples: UnsafeBufferPointer<Int16>) -> Bool {
        precondition(samples.count.isMultiple(of: channels), "whole frames")
        guard error == nil, let file else { return false }
        let count = samples.count / channels
        let taken = Int(sf_writef_short(file, samples.baseAddress, sf_count_t(count)))
        frames += max(0, taken)
        if taken != count { output.fail(String(cString: sf_strerror(file))) }
        return error == nil
    }

    /// Pages and frames go to the file when they are full: nothing is kept that could be written.
    @discardableResult
    func flush() -> Bool { error == nil && file != nil }

    func finish() -> AudioFileResult {
        if let file { sf_close(file) }
        file = nil
        return AudioFileResult(output, frames: frames, rate: rate)
    }

    // MARK: What libsndfile calls

    private static func of(_ user: UnsafeMutableRawPointer?) -> SoundFileWriter {
        guard let user else { preconditionFailure("libsndfile lost its file") }
        return Unmanaged<SoundFileWriter>.fromOpaque(user).takeUnretainedValue()
    }

    private func seek(_ offset: sf_count_t, _ whence: Int32) -> sf_count_t {
        position = max(0, Int(offset) + (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? position : output.size))
        return sf_count_t(position)
    }

    private func read(_ bytes: UnsafeMutableRawPointer?, _ count: sf_count_t) -> sf_count_t {
        let count = output.read(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)), at: position)
        position += count
        return sf_count_t(count)
    }

    private func write(_ bytes: UnsafeRawPointer?, _ count: sf_count_t) -> sf_count_t {
        // After a failure the file stays as it is: with what was whole, and with the length "unknown".
        guard error == nil else { return 0 }
        let written = output.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: position)
        if written < count { output.cut(at: position) }
        position += written
        return sf_count_t(written)
    }
}
