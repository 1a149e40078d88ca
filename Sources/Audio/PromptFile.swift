// Audio files are read by libsndfile: any rate, number of channels and format that it knows. Channels are mixed down.
// Reading blocks: the caller does it on a worker.

import CSndFile
import Glibc

/// Why a prompt cannot be played. Each case names the file.
package enum PromptError: Error, Equatable, Sendable, CustomStringConvertible {
    case missing(path: String)
    /// It is there, but cannot be opened or read: no permission, a folder, an I/O error.
    case unreadable(path: String, reason: String)
    /// It was read, but it is no audio that libsndfile knows.
    case notAudio(path: String, reason: String)
    /// Audio without a sample; also what is left when `from` lies behind the end.
    case empty(path: String)
    case tooLong(path: String, limit: String)
    /// It is audio, and not for this call.
    case unfit(path: String, reason: String)

    package var description: String {
        switch self {
        case .missing(let path), .unreadable(let path, _), .notAudio(let path, _), .empty(let path), .tooLong(let path, _),
            .unfit(let path, _):
            "\(path): \(reason)"
        }
    }

    /// Without the file's name.
    package var reason: String {
        switch self {
        case .missing: "there is no such file"
        case .unreadable(_, let reason): "cannot be read: \(reason)"
        case .notAudio(_, let reason): "is not an audio file that can be played: \(reason)"
        case .empty: "holds no audio"
        case .tooLong(_, let limit): "is longer than a prompt may be (\(limit))"
        case .unfit(_, let reason): reason
        }
    }
}

/// How large a prompt may be. A clip at 48 kHz takes 5.5 MiB a minute while it is read.
package struct PromptLimits: Equatable, Sendable {
    package var bytes: Int
    package var length: Duration

    package init(bytes: Int = 200 << 20, length: Duration = .seconds(1800)) {
        self.bytes = bytes
        self.length = length
    }
}

/// What tells one state of a file from another: a prompt that was replaced gets another stamp.
package struct FileStamp: Hashable, Sendable {
    package var modified: Int64
    package var size: Int64
    package var inode: UInt64

    /// Follows links.
    package init(path: String) throws(PromptError) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw PromptFile.openError(path, errno) }
        self.init(status)
    }

    fileprivate init(_ status: stat) {
        modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        size = Int64(status.st_size)
        inode = UInt64(status.st_ino)
    }
}

package enum PromptFile {
    /// How long a file lasts that can be played in some call. It is read whole, as for playing. Blocks.
    package static func length(of path: String, limits: PromptLimits = PromptLimits()) throws(PromptError) -> Duration {
        guard G729File.isOne(path) else { return try read(path, limits: limits).length }
        return .milliseconds(try G729File.read(path, limits: limits).count / G729File.frame * 10)
    }

    /// Reads a whole file at its own rate.
    /// - Parameter channel: nil mixes all channels down to one; else that channel alone (0 is left), silent when there is
    ///   no such channel.
    package static func read(
        _ path: String, channel: Int? = nil, limits: PromptLimits = PromptLimits()
    ) throws(PromptError) -> AudioClip {
        let (descriptor, _) = try opened(path, limits)
        defer { close(descriptor) }
        var info = SF_INFO()
        guard let file = sf_open_fd(descriptor, Int32(SFM_READ), &info, 0) else {
            throw .notAudio(path: path, reason: message(nil))
        }
        defer { sf_close(file) }
        let channels = Int(info.channels)
        let rate = Int(info.samplerate)
        guard (1...64).contains(channels), (1000...768_000).contains(rate) else {
            throw .notAudio(path: path, reason: "\(channels) channels at \(rate) Hz")
        }
        let samples = try mixDown(file, path, channels, channel, AudioClip.samples(in: limits.length, rate: rate), limits)
        guard !samples.isEmpty else { throw .empty(path: path) }
        return AudioClip(samples: samples, rate: rate)
    }

    /// A file of a size that a prompt may have; and its size.
    private static func opened(_ path: String, _ limits: PromptLimits) throws(PromptError) -> (descriptor: Int32, size: Int) {
        // O_NONBLOCK: a named pipe must not hold the worker.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw openError(path, errno) }
        do throws(PromptError) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw openError(path, errno) }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw .unreadable(path: path, reason: status.st_mode & S_IFMT == S_IFDIR ? "it is a folder" : "it is not a file")
            }
            guard status.st_size > 0 else { throw .empty(path: path) }
            guard Int(status.st_size) <= limits.bytes else { throw .tooLong(path: path, limit: "\(limits.bytes) bytes") }
            return (descriptor, Int(status.st_size))
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// The file as it is.
    static func octets(of path: String, limits: PromptLimits) throws(PromptError) -> [UInt8] {
        let (descriptor, size) = try opened(path, limits)
        defer { close(descriptor) }
        var octets = [UInt8](repeating: 0, count: size)
        var done = 0
        while done < size {
            let count = octets.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + done, size - done) }
            guard count >= 0 || errno == EINTR else {
                throw .unreadable(path: path, reason: String(cString: strerror(errno)))
            }
            if count == 0 { break }
            done += max(0, count)
        }
        return Array(octets[..<done])
    }

    /// Reads frames to the end, whatever number the header promises.
    private static func mixDown(
        _ file: OpaquePointer, _ path: String, _ channels: Int, _ only: Int?, _ limit: Int, _ limits: PromptLimits
    ) throws(PromptError) -> [Int16] {
        let block = 4096
        let frames = UnsafeMutableBufferPointer<Float>.allocate(capacity: block * channels)
        defer { frames.deallocate() }
        guard let first = frames.baseAddress else { return [] }
        var samples: [Int16] = []
        let wanted = only.map { $0..<min($0 + 1, max($0, channels)) } ?? 0..<channels
        let scale = 32768 / Double(max(1, wanted.count))
        while true {
            let count = Int(sf_readf_float(file, first, sf_count_t(block)))
            if count <= 0 {
                guard sf_error(file) == 0 else { throw .unreadable(path: path, reason: message(file)) }
                return samples
            }
            guard samples.count + count <= limit else {
                throw .tooLong(path: path, limit: "\(limits.length.components.seconds) s")
            }
            for frame in 0..<count {
                var sum = 0.0
                for channel in wanted { sum += Double(first[frame * channels + channel]) }
                // A float file may hold what is no number: it becomes silence.
                samples.append(sum.isFinite ? saturated(sum * scale) : 0)
            }
        }
    }

    fileprivate static func openError(_ path: String, _ code: Int32) -> PromptError {
        switch code {
        case ENOENT, ENOTDIR: .missing(path: path)
        default: .unreadable(path: path, reason: String(cString: strerror(code)))
        }
    }

    /// libsndfile's words, without its full stop.
    private static func message(_ file: OpaquePointer?) -> String {
        guard let text = sf_strerror(file) else { return "unknown format" }
        let words = String(cString: text)
        return words.hasSuffix(".") ? String(words.dropLast()) : words
    }
}
