// How much of a reference recording has been heard so far: its first sounds are looked for in all that comes, the others where they
// have to be then. It does not care for level, codec, single lost packets or a start that was cut off. Pure.

/// Looks for a recording in audio that goes on. It computes a lot: work for a worker.
package struct ReferenceMatcher: Sendable {
    /// What was heard may be the recording, beginning at `start` (in samples of what was heard).
    private struct Candidate {
        var start: Int
        var heard = 0
        /// The pieces that were looked for.
        var tried: Set<Int> = []
    }

    /// The share of the reference's sound from which on it has been heard; the rest is for loss and a start that was cut off.
    package static let enough = 0.75
    /// How much earlier or later than it has to be a sound may come: a jitter buffer grows and shrinks. In samples.
    private static let tolerance = SoundPiece.rate / 4
    /// What is looked at together, in samples.
    private static let step = SoundPiece.rate / 4
    /// Sounds by which the beginning is found, at most.
    private static let mostAnchors = 4
    private static let mostCandidates = 8

    /// `range`: in the reference, with the pause before it; `sound`: its length without it.
    private let pieces: [(range: Range<Int>, sound: Int, reference: [Int16])]
    private let total: Int
    private let anchors: Int
    /// What was heard last, from the sample `origin` on.
    private var heard: [Int16] = []
    private var origin = 0
    /// Up to where the anchors were looked for.
    private var searched = 0
    private var candidates: [Candidate] = []
    /// The largest share of the reference's sound (0 to 1) that was heard in one go.
    package private(set) var share = 0.0

    /// - Returns: nil when nothing in the reference sounds for 100 ms at -45 dBm0 or more.
    package init?(_ reference: AudioClip) {
        let samples = reference.resampled(to: SoundPiece.rate).samples
        let found = SoundPiece.pieces(of: samples, until: samples.count)
        guard !found.isEmpty else { return nil }
        let pieces = found.map {
            (range: $0.first..<$0.range.upperBound, sound: $0.range.count, reference: $0.reference(in: samples))
        }
        let total = pieces.reduce(0) { $0 + $1.sound }
        // A later sound would be of no use: too much would be missing before it.
        var before = 0
        var anchors = 0
        for piece in pieces.prefix(Self.mostAnchors) {
            if Double(before) > Double(total) * (1 - Self.enough) { break }
            anchors += 1
            before += piece.sound
        }
        (self.pieces, self.total, self.anchors) = (pieces, total, anchors)
    }

    /// Hears what comes next, at 8 kHz; silence where nothing came.
    package mutating func hear(_ samples: [Int16]) {
        heard += samples
        while end - searched >= Self.step { search(until: searched + Self.step) }
        let needed = (pieces.map(\.range.count).max() ?? 0) + Self.step + 2 * Self.tolerance
        if heard.count > 2 * needed {
            let surplus = heard.count - needed
            heard.removeFirst(surplus)
            origin += surplus
        }
    }

    private var end: Int { origin + heard.count }

    private mutating func search(until limit: Int) {
        for anchor in 0..<anchors {
            let range = pieces[anchor].range
            guard let place = find(anchor, in: (searched - range.count)..<limit) else { continue }
            let start = place - range.lowerBound
            guard !candidates.contains(where: { abs($0.start - start) < Self.tolerance }) else { continue }
            candidates.append(Candidate(start: start))
        }
        searched = limit
        for index in candidates.indices { follow(index) }
        candidates.removeAll { $0.tried.count == pieces.count }
        if candidates.count > Self.mostCandidates { candidates.removeFirst(candidates.count - Self.mostCandidates) }
    }

    /// Looks for the sounds that should have come by now.
    private mutating func follow(_ index: Int) {
        var candidate = candidates[index]
        for piece in pieces.indices where !candidate.tried.contains(piece) {
            let range = pieces[piece].range
            let window =
                (candidate.start + range.lowerBound - Self.tolerance)..<(candidate.start + range.upperBound + Self.tolerance)
            // They come in turn.
            guard candidate.start + range.upperBound <= end else { break }
            guard let place = find(piece, in: window) else {
                // It may still come a little later.
                guard window.upperBound <= end else { break }
                candidate.tried.insert(piece)
                continue
            }
            candidate.tried.insert(piece)
            candidate.heard += pieces[piece].sound
            candidate.start = place - range.lowerBound
        }
        share = max(share, Double(candidate.heard) / Double(total))
        candidates[index] = candidate
    }

    /// Where the piece begins in what was heard, if it is there whole.
    private func find(_ piece: Int, in window: Range<Int>) -> Int? {
        let window = window.clamped(to: origin..<end)
        guard !window.isEmpty else { return nil }
        let part = Array(heard[window.lowerBound - origin..<window.upperBound - origin])
        let match = Correlation.search(pieces[piece].reference, in: part, overlap: 0.9)
        return match.peak >= SoundPiece.likeness ? window.lowerBound + match.lag : nil
    }
}
