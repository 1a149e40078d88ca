// A file that a run writes. The loop gathers text; a worker writes it.

import Glibc
import Reactor

final class RunFile {
    private let path: String
    private let descriptor: Int32
    private let workers: WorkerPool
    private var waiting: [UInt8] = []
    private static let batch = 1 << 16
    /// More than this is not kept when the disk is too slow.
    private static let most = 1 << 26
    private(set) var droppedOctets = 0

    /// Begins the file anew, or goes on behind what is there.
    init(_ path: String, appends: Bool, workers: WorkerPool) throws(RunFailure) {
        self.path = path
        self.workers = workers
        descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (appends ? O_APPEND : O_TRUNC), 0o644)
        guard descriptor >= 0 else { throw .fatal("\(path) cannot be written: \(String(cString: strerror(errno)))") }
    }

    func write(_ text: String) {
        guard waiting.count < Self.most else { return droppedOctets += text.utf8.count }
        waiting += text.utf8
        if waiting.count > Self.batch { flush() }
    }

    func write(_ octets: UnsafeRawBufferPointer) {
        guard waiting.count < Self.most else { return droppedOctets += octets.count }
        waiting += octets
    }

    func flush() {
        guard !waiting.isEmpty else { return }
        let octets = waiting
        let descriptor = descriptor
        // A full queue is tried again with the next flush.
        guard (try? workers.submit { Self.put(octets, descriptor) }) != nil else { return }
        waiting.removeAll(keepingCapacity: true)
    }

    private static func put(_ octets: [UInt8], _ descriptor: Int32) {
        var done = 0
        while done < octets.count {
            let count = octets.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + done, $0.count - done) }
            if count < 0 { if errno == EINTR { continue } else { return } }
            done += count
        }
    }

    /// Nothing more is written.
    func finish() {
        flush()
        let descriptor = descriptor
        if (try? workers.submit { _ = Glibc.close(descriptor) }) == nil { _ = Glibc.close(descriptor) }
    }
}
