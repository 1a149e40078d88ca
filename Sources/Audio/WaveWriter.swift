// Writes WAV files (16-bit PCM) whose header is right at every moment: samples go to the file first, then one write of the
// header says that they are there. A process killed in between leaves samples behind the announced end, which readers
// skip. Writing blocks: the caller does it on a worker.

import Basics
import COpenSSL
import Glibc

/// Why a recording could not be written.
package enum WaveError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file or its folder could not be made.
    case cannotCreate(path: String, reason: String)
    /// A write failed (disk full, I/O error); what came before is in the file.
    case cannotWrite(path: String, reason: String)
    /// A WAV file ends at 4 GiB.
    case full(path: String)

    package var description: String {
        switch self {
        case .cannotCreate(let path, let reason): "\(path): cannot be made: \(reason)"
        case .cannotWrite(let path, let reason): "\(path): cannot be written: \(reason)"
        case .full(let path): "\(path): has reached the 4 GiB that a WAV file can hold"
        }
    }
}

/// What was written.
package struct WaveResult: Equatable, Sendable {
    package var path: String
    /// Samples for each channel.
    package var frames: Int
    package var length: Duration
    /// The size of the file.
    package var bytes: Int
    /// SHA-256 of the file, lower-case hex; empty when it could not be read.
    package var checksum: String
    /// The first thing that went wrong; nil when everything is in the file.
    package var error: WaveError?
}

/// Writes one file. Belongs to the thread that writes.
package final class WaveWriter {
    package let path: String
    package let rate: Int
    package let channels: Int
    /// Samples for each channel that are in the file or wait to be.
    package var frames: Int { (written + buffer.count * 2) / (channels * 2) }
    /// The first thing that went wrong; nothing is written after it.
    package private(set) var error: WaveError?

    private static let headerSize = 44
    private static let most = Int(UInt32.max) - 36 - 4096
    private var descriptor: Int32
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
    ) throws(WaveError) {
        precondition(rate > 0 && (1...2).contains(channels), "rate and channels of a recording")
        self.path = path
        self.rate = rate
        self.channels = channels
        flushAt = max(channels, buffered)
        let folderError = makesFolders ? Self.makeFolders(of: path) : 0
        descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o640)
        guard descriptor >= 0 else {
            // A folder that is not there has its reason where it could not be made.
            let code = errno == ENOENT && folderError != 0 ? folderError : errno
            throw .cannotCreate(path: path, reason: String(cString: strerror(code)))
        }
        buffer.reserveCapacity(flushAt)
        writeHeader()
        if case .cannotWrite(_, let reason)? = error {
            close(descriptor)
            descriptor = -1
            throw .cannotCreate(path: path, reason: reason)
        }
    }

    deinit {
        if descriptor >= 0 {
            flush()
            Glibc.close(descriptor)
        }
    }

    /// Takes samples, interleaved when there are two channels (a whole number of frames).
    /// - Returns: whether all is well so far.
    @discardableResult
    package func append(_ samples: UnsafeBufferPointer<Int16>) -> Bool {
        precondition(samples.count.isMultiple(of: channels), "whole frames")
        guard error == nil, descriptor >= 0 else { return false }
        buffer.append(contentsOf: samples)
        return buffer.count >= flushAt ? flush() : true
    }

    /// Puts what was kept into the file. Called once a second, not more than that is lost with a killed process.
    @discardableResult
    package func flush() -> Bool {
        guard error == nil, descriptor >= 0 else { return false }
        guard !buffer.isEmpty else { return true }
        if written + buffer.count * 2 > Self.most {
            error = .full(path: path)
        } else {
            let count = buffer.withUnsafeBytes { write($0, at: Self.headerSize + written) }
            // A frame that is half in the file does not count.
            written += count - count % (channels * 2)
            writeHeader()
        }
        buffer.removeAll(keepingCapacity: true)
        return error == nil
    }

    /// Writes the rest, closes the file and reads it once more for its checksum.
    package func finish() -> WaveResult {
        flush()
        var checksum = ""
        if descriptor >= 0 {
            checksum = hash() ?? ""
            // Some file systems report a full disk only now.
            if Glibc.close(descriptor) != 0, error == nil {
                error = .cannotWrite(path: path, reason: String(cString: strerror(errno)))
            }
            descriptor = -1
        }
        let frames = written / (channels * 2)
        return WaveResult(
            path: path, frames: frames, length: .nanoseconds(Int64(frames) * 1_000_000_000 / Int64(rate)),
            bytes: Self.headerSize + written, checksum: checksum, error: error)
    }

    /// Writes all of it; where that fails, `error` is set.
    /// - Returns: how many bytes were written.
    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        guard let base = bytes.baseAddress else { return 0 }
        var done = 0
        while done < bytes.count {
            let count = pwrite(descriptor, base + done, bytes.count - done, off_t(offset + done))
            if count > 0 {
                done += count
            } else if count == 0 || errno != EINTR {
                if error == nil {
                    error = .cannotWrite(path: path, reason: count == 0 ? "nothing was taken" : String(cString: strerror(errno)))
                }
                break
            }
        }
        return done
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
        _ = header.withUnsafeBytes { write($0, at: 0) }
        // What lies behind the announced end (half a frame after a failed write) is cut off where that is possible.
        if error != nil { ftruncate(descriptor, off_t(Self.headerSize + written)) }
    }

    private func hash() -> String? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { block in
            var offset = 0
            while true {
                let count = pread(descriptor, block.baseAddress, block.count, off_t(offset))
                if count == 0 { break }
                guard count > 0 else {
                    if errno == EINTR { continue }
                    return nil
                }
                EVP_DigestUpdate(context, block.baseAddress, count)
                offset += count
            }
            var digest = [UInt8](repeating: 0, count: 32)
            guard EVP_DigestFinal_ex(context, &digest, nil) == 1 else { return nil }
            let digits = Array("0123456789abcdef".utf8)
            return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
        }
    }

    /// Makes the folders of a path; what fails shows when the file is opened.
    /// - Returns: why the last folder is not there (an `errno`), or 0.
    private static func makeFolders(of path: String) -> Int32 {
        var index = path.startIndex
        var failure: Int32 = 0
        while let slash = path[index...].firstIndex(of: "/") {
            if slash > path.startIndex {
                // The first failure is the cause: what lies below cannot be made either.
                let made = mkdir(String(path[..<slash]), 0o750) == 0 || errno == EEXIST
                if made { failure = 0 } else if failure == 0 { failure = errno }
            }
            index = path.index(after: slash)
        }
        return failure
    }
}
