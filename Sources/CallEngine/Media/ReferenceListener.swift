// Looks for a reference recording in what is heard. Reading the file and looking is the workers' job; meanwhile what comes is kept.

import Audio
import Reactor

/// Belongs to its listener, on the call's loop.
final class ReferenceListener {
    private let workers: WorkerPool
    private let loop: EventLoop
    private let report: (ListenEvent) -> Void
    /// nil while a worker has it, and after a failure.
    private var matcher: ReferenceMatcher?
    private var waiting: [Int16] = []
    private var isOver = false
    /// A quarter of a second, as samples: what is looked at together.
    private static let portion = MediaServices.listeningRate / 4

    /// - Parameter path: a file that libsndfile reads; of a missing or silent one `report` hears at once.
    init(_ path: String, services: MediaServices, report: @escaping (ListenEvent) -> Void) {
        workers = services.workers.prompts
        loop = services.loop
        self.report = report
        let workers = workers
        loop.spawn { [weak self, loop] in
            let loaded: Result<ReferenceMatcher?, any Error>
            do {
                loaded = .success(try await workers.run(on: loop) { ReferenceMatcher(try PromptFile.read(path)) })
            } catch {
                loaded = .failure(error)
            }
            self?.begin(path, loaded)
        }
    }

    func hear(_ samples: some Collection<Int16>) {
        guard !isOver else { return }
        waiting += samples
        look()
    }

    private func begin(_ path: String, _ loaded: Result<ReferenceMatcher?, any Error>) {
        switch loaded {
        case .success(let matcher?):
            self.matcher = matcher
            look()
        case .success(nil): fail("\(path): there is no sound in it")
        case .failure(let error as PromptError): fail(error.description)
        case .failure: fail("\(path): too many prompts are being loaded")
        }
    }

    private func fail(_ why: String) {
        isOver = true
        waiting = []
        report(.referenceFailed(why))
    }

    private func look() {
        guard waiting.count >= Self.portion, let matcher else { return }
        let samples = waiting
        waiting = []
        self.matcher = nil
        let workers = workers
        loop.spawn { [weak self, loop] in
            let looked = try? await workers.run(on: loop) {
                var matcher = matcher
                matcher.hear(samples)
                return matcher
            }
            guard let self else { return }
            if let looked { return take(looked, before: matcher.share) }
            // Workers that have no time for it now get it with what comes next: sounds keep their places.
            self.matcher = matcher
            waiting = samples + waiting
        }
    }

    private func take(_ looked: ReferenceMatcher, before: Double) {
        matcher = looked
        if looked.share > before { report(.reference(share: looked.share, at: loop.now)) }
        look()
    }
}
