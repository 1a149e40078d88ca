// Whether the other workers lived on: asked before a test with parties counts as failed, because any of them may have had a call of it.

/// Waits until each of the other workers has shown once more that it lives, or was given up.
final class CampaignWatch {
    let then: (_ lost: Set<Int>) -> Void
    private let gone: Set<Int>
    /// Known with the first look.
    private var workers: Set<Int>?
    /// What each showed then.
    private var seen: [Int: Int] = [:]

    /// - Parameter gone: who is not waited for.
    init(but gone: Set<Int>, then: @escaping (_ lost: Set<Int>) -> Void) {
        (self.gone, self.then) = (gone, then)
    }

    /// - Parameters:
    ///   - beats: of those that live.
    ///   - known: all that there ever were.
    /// - Returns: those that are lost; nil: it is not known yet.
    func look(at beats: [Int: Int], known: Set<Int>) -> Set<Int>? {
        let workers = self.workers ?? known.subtracting(gone)
        self.workers = workers
        var isKnown = true
        for worker in workers {
            guard let beat = beats[worker] else { continue }
            let first = seen[worker] ?? beat
            seen[worker] = first
            if beat == first { isKnown = false }
        }
        return isKnown ? workers.filter { beats[$0] == nil } : nil
    }
}
