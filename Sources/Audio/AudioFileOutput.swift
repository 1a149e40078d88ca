// The file under a recording: made, written and hashed by system calls, so that what goes wrong has its reason. Which bytes go where
// is the writers' business (WaveWriter, SoundFileWriter). Writing blocks: the caller does it on a worker.

import Basics
import COpenSSL
import Glibc

/// Why a recording could not be written.
package enum AudioFileError: Error, Equatable, Sendable, CustomStringConvertible {
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
package struct AudioFileResult: Equatable, Sendable {
    package var path: String
    /// Samples for each channel.
    package var frames: Int
    package var length: Duration
    /// The size of the file.
    package var bytes: Int
    /// SHA-256 of the file, lower-case hex; empty when it could not be read.
    package var checksum: String
    /// The first thing that went wrong; nil when everything is in the file.
    package var error: AudioFileError?
}

/// An open file and the first thing that went wrong with it. Belongs to the thread that writes.
final class AudioFileOutput {
    let path: String
    var error: AudioFileError?
    /// How far the file reaches.
    private(set) var size = 0
    private var descriptor: Int32

    var isOpen: Bool { descriptor >= 0 }

    /// Makes the file, empty; one that exists is replaced, a link is not followed.
    /// - Parameter makesFolders: whether missing folders of the path are made; else they are an error.
    init(path: String, makesFolders: Bool) throws(AudioFileError) {
        self.path = path
        let folderError = makesFolders ? Self.makeFolders(of: path) : 0
        descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o640)
        guard descriptor >= 0 else {
            // A folder that is not there has its reason where it could not be made.
            let code = errno == ENOENT && folderError != 0 ? folderError : errno
            throw .cannotCreate(path: path, reason: String(cString: strerror(code)))
        }
    }

    deinit {
        if isOpen { Glibc.close(descriptor) }
    }

    /// Writes all of it; where that fails, `error` is set.
    /// - Returns: how many bytes were written.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        guard isOpen, let base = bytes.baseAddress else { return 0 }
        var done = 0
        while done < bytes.count {
            let count = pwrite(descriptor, base + done, bytes.count - done, off_t(offset + done))
            if count > 0 {
                done += count
            } else if count == 0 || errno != EINTR {
                fail(count == 0 ? "nothing was taken" : String(cString: strerror(errno)))
                break
            }
        }
        size = max(size, offset + done)
        return done
    }

    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        max(0, pread(descriptor, bytes.baseAddress, bytes.count, off_t(offset)))
    }

    /// Cuts off what lies behind, where that is possible.
    func cut(at size: Int) {
        if ftruncate(descriptor, off_t(size)) == 0 { self.size = size }
    }

    func fail(_ reason: String) {
        if error == nil { error = .cannotWrite(path: path, reason: reason) }
    }

    /// Closes the file after it was read once more for its checksum.
    func close() -> String {
        guard isOpen else { return "" }
        let checksum = hash() ?? ""
        // Some file systems report a full disk only now.
        if Glibc.close(descriptor) != 0 { fail(String(cString: strerror(errno))) }
        descriptor = -1
        return checksum
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
