// What a registrar needs done in the course of time: removing what ran out, and writing its file. It lives on one loop; the file is read
// and written by a worker.

import Basics
import Reactor
import SIP

/// Belongs to its loop.
final class RegistrarKeeper {
    private let service: RegistrarService
    private let path: String?
    private let loop: EventLoop
    private let workers: WorkerPool
    private var timer: LoopTimer?
    private var isWriting = false
    private var lastWrite = Instant.zero
    private var hasFailed = false

    private static let interval = Duration.seconds(1)

    /// - Parameter path: of the file; nil: bindings end with the process.
    init(_ service: RegistrarService, path: String?, loop: EventLoop, workers: WorkerPool) {
        self.service = service
        self.path = path
        self.loop = loop
        self.workers = workers
        tick()
    }

    private func tick() {
        timer = loop.schedule(after: Self.interval) { [unowned self] in
            service.sweep(at: loop.now)
            // A large file is written less often: 20,000 bindings every twenty seconds.
            let pause = Duration.milliseconds(max(2000, service.figures.bindings))
            if !isWriting, loop.now - lastWrite >= pause { save() }
            tick()
        }
    }

    private func save() {
        guard let path, let (table, key) = service.copyIfChanged() else { return }
        isWriting = true
        lastWrite = loop.now
        let (now, wall) = (loop.now, loop.wallClock)
        loop.spawn { [self] in
            do {
                try await workers.run(on: loop) {
                    try AtomicFile.write(BindingFile.text(of: table, key: key, at: now, wall: wall), to: path)
                }
                hasFailed = false
            } catch {
                // Told once, tried again and again.
                service.fileFailed(hasFailed ? nil : "\(path): \(error)")
                hasFailed = true
            }
            isWriting = false
        }
    }

    /// Writes what is not written yet; the worker does it before its pool has stopped.
    func close() {
        timer?.cancel()
        timer = nil
        guard let path, let (table, key) = service.copyIfChanged() else { return }
        let (now, wall) = (loop.now, loop.wallClock)
        let service = self.service
        try? workers.submit {
            do throws(SystemError) {
                try AtomicFile.write(BindingFile.text(of: table, key: key, at: now, wall: wall), to: path)
            } catch {
                service.fileFailed("\(path): \(error)")
            }
        }
    }
}
