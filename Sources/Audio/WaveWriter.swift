// Writes WAV files (16-bit PCM) whose header is right at every moment: samples go to the file first, then one write of the
// header says that they are there. A process killed in between leaves samples behind the announced end, which readers
// skip.

import Basics

/// Writes one file.
package final class WaveWriter: AudioFileWriter {
    package var frames: Int { (written + buffer.count * 2) / (channels * 2) }
    package var error: AudioFileError? { output.error }

    private static let headerSize = 44
    private static let most = Int(UInt32.max) - 36 - 4096
    private let output: AudioFileOutput
    private let rate: Int
    private let channels: Int
    private var buffer: [Int16] = []
    private let flushAt: Int
    /// Bytes of samples in the file.
    private var written = 0

    /// Makes the file, empty and valid; one that exists is replaced.
    /// - Parameters:
    ///   - channels: 1 or 2.
    ///   - makesFolders: whether missing folders of the path are made; else they are an error.
    ///   - buffered: samples are kept until there are so many, or until `flush`.
    package init(
        path: String, rate: Int, channels: Int, makesFolders: Bool = true, buffered: Int = 16384
    ) throws(AudioFileError) {
        precondition(rate > 0 && (1...2).contains(channels), "rate and channels of a recording")
        self.rate = rate
        self.channels = channels
        flushAt = max(channels, buffered)
        output = try AudioFileOutput(path: path, makesFolders: makesFolders)
        buffer.reserveCapacity(flushAt)
        writeHeader()
        if case .cannotWrite(_, let reason)? = error { throw .cannotCreate(path: path, reason: reason) }
    }

    deinit { flush() }

    @discardableResult
    package func append(_ samples: UnsafeBufferPointer<Int16>) -> Bool {
        precondition(samples.count.isMultiple(of: channels), "whole frames")
        guard error == nil, output.isOpen else { return false }
        buffer.append(contentsOf: samples)
        return buffer.count >= flushAt ? flush() : true
    }

    @discardableResult
    package func flush() -> Bool {
        guard error == nil, output.isOpen else { return false }
        guard !buffer.isEmpty else { return true }
        if written + buffer.count * 2 > Self.most {
            output.error = .full(path: output.path)
        } else {
            let count = buffer.withUnsafeBytes { output.write($0, at: Self.headerSize + written) }
            // A frame that is half in the file does not count.
            written += count - count % (channels * 2)
            writeHeader()
        }
        buffer.removeAll(keepingCapacity: true)
        return error == nil
    }

    package func finish() -> AudioFileResult {
        flush()
        return AudioFileResult(output, frames: written / (channels * 2), rate: rate)
    }

    /// 44 bytes: `RIFF` size `WAVE`, `fmt ` of 16 bytes, `data` size. Numbers are little-endian.
    private func writeHeader() {
        var header: [UInt8] = []
        header.reserveCapacity(Self.headerSize)
        func number(_ value: Int, _ size: Int) {
            for index in 0..<size { header.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
        }
        header.append(contentsOf: "RIFF".utf8)
        number(36 + written, 4)
        header.append(contentsOf: "WAVEfmt ".utf8)
        number(16, 4)
        number(1, 2)
        number(channels, 2)
        number(rate, 4)
        number(rate * channels * 2, 4)
        number(channels * 2, 2)
        number(16, 2)
        header.append(contentsOf: "data".utf8)
        number(written, 4)
        _ = header.withUnsafeBytes { output.write($0, at: 0) }
        // What lies behind the announced end (half a frame after a failed write) is cut off.
        if error != nil { output.cut(at: Self.headerSize + written) }
    }
}
