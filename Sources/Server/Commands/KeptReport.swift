// The report of a far end while it serves: written again and again, so that little is lost whatever ends the process. By a worker, never
// on a loop.

package import Dialer
package import Reactor

/// Belongs to a loop, which is none of the calls'.
package final class KeptReport {
    package static let usualInterval = Duration.seconds(60)

    private let folder: String
    private let loop: EventLoop
    private let workers: WorkerPool
    private let log: Log
    private let counted: () -> LoadReport?
    private var task: LoopTask?
    private var trouble: CommandFailure?
    /// Each time that it was written, or could not be.
    package var onWritten: (() -> Void)?

    /// Writes it as it is now. Blocks.
    package static func write(_ report: LoadReport, into folder: String) throws(CommandFailure) {
        try LoadFiles.write(report, page: report.page(title: "The far end: calls that came in"), into: folder)
    }

    /// - Parameter counted: what there is so far; asked on `loop`.
    package init(
        _ folder: String, loop: EventLoop, workers: WorkerPool, log: Log, counted: @escaping () -> LoadReport?
    ) {
        (self.folder, self.loop, self.workers, self.log, self.counted) = (folder, loop, workers, log, counted)
    }

    /// Begins to write, and holds itself until `stop`.
    package func start(every interval: Duration = usualInterval) {
        precondition(task == nil, "it is started once")
        task = loop.spawn {
            do {
                while true {
                    try await self.loop.sleep(for: interval)
                    try await self.write()
                }
            } catch {
                // Cancelled, or the workers are gone: the server ends.
            }
        }
    }

    package func stop() { task?.cancel() }

    private func write() async throws {
        guard let report = counted() else { return }
        let folder = folder
        let trouble = try await workers.run(on: loop) { () -> CommandFailure? in
            do throws(CommandFailure) {
                try Self.write(report, into: folder)
                return nil
            } catch {
                return error
            }
        }
        // Once for each trouble: a full disk stays full.
        if let trouble, trouble != self.trouble {
            log.add(LogLine(.warning, "the report is not written", fields: [("why", "\(trouble)")]))
        }
        self.trouble = trouble
        onWritten?()
    }
}
