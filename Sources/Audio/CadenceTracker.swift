// Which of several tones a sequence of sound and silence is: each tone has a cadence, and what was heard has to fit it, element by element.
// A tone is known when enough of its cadence fitted. Pure: kinds of sound and times in, tones out.
//
//   a steady tone                  lasts longer than any element of another tone with the same frequencies
//   several sounds (450, 1400 …)   each of them once, in order
//   a long cadence (ringback)      all sounds of one cadence: one second of 1000:4000, both of 400:200:400:2000
//   a short cadence (busy)         three elements and 1.2 s

/// Follows the cadences of several tones at once. Times are in milliseconds.
struct CadenceTracker {
    struct Element: Equatable {
        /// What sounds; nil is a pause.
        var kind: Int?
        /// nil: for ever.
        var length: Double?
    }

    /// A way through a pattern that fits so far.
    private struct Path {
        /// The element that is heard now.
        var element: Int
        /// Elements before it that fitted, what they lasted, and how many of them were no pauses.
        var matched = 0
        var time = 0.0
        var sounds = 0
    }

    private struct Pattern {
        var elements: [Element]
        var sounds: Int
        var kinds: Int
        var length: Double
        /// How long a steady tone has to last.
        var steady: Double?

        /// What exchanges and the measurement may be off. Where the sounds themselves tell, exchanges differ more: special information has
        /// tones of 274 to 380 ms.
        func tolerance(_ length: Double) -> Double { CadenceTracker.tolerance(length) + (kinds > 1 ? length / 7 : 0) }
    }

    private let patterns: [Pattern]
    private var paths: [[Path]]
    private var since = 0.0
    /// The pattern that was reported and goes on.
    private var reported: Int?

    enum Heard: Equatable {
        case pause
        case sound(Int)
        /// Sound of no tone.
        case other
    }

    /// - Parameter tones: their elements; no two are the same.
    init(_ tones: [[Element]]) {
        patterns = tones.map { elements in
            let sounding = elements.filter { $0.kind != nil }
            var steady: Double?
            if elements.count == 1, elements[0].length == nil {
                let others = tones.flatMap { $0 }.filter { $0.kind == elements[0].kind }.compactMap(\.length)
                let longest = others.max() ?? 0
                steady = max(600, longest + Self.tolerance(longest) + 100)
            }
            return Pattern(
                elements: elements, sounds: sounding.count, kinds: Set(sounding.compactMap(\.kind)).count,
                length: elements.reduce(0) { $0 + ($1.length ?? 0) }, steady: steady)
        }
        paths = tones.map { _ in [] }
    }

    private static func tolerance(_ length: Double) -> Double { 25 + length / 10 }

    /// Something else is heard from `time` on.
    mutating func change(to next: Heard, at time: Double) {
        let length = time - since
        for index in patterns.indices { step(index, length, next) }
        since = time
        if let reported, !paths[reported].contains(where: { $0.matched > 0 || patterns[reported].steady != nil }) {
            self.reported = nil
        }
    }

    private mutating func step(_ index: Int, _ length: Double, _ next: Heard) {
        let elements = patterns[index].elements
        var best: [Int: Path] = [:]
        func keep(_ path: Path) {
            guard Self.fits(elements[path.element], next) else { return }
            if let known = best[path.element], known.matched >= path.matched { return }
            best[path.element] = path
        }
        for path in paths[index] {
            guard let wanted = elements[path.element].length, abs(length - wanted) <= patterns[index].tolerance(wanted) else {
                continue
            }
            keep(
                Path(
                    element: (path.element + 1) % elements.count, matched: path.matched + 1, time: path.time + length,
                    sounds: path.sounds + (elements[path.element].kind == nil ? 0 : 1)))
        }
        for element in elements.indices { keep(Path(element: element)) }
        paths[index] = Array(best.values)
    }

    private static func fits(_ element: Element, _ heard: Heard) -> Bool {
        switch heard {
        case .other: false
        case .pause: element.kind == nil
        case .sound(let kind): element.kind == kind
        }
    }

    /// Time passes until `time`.
    /// - Returns: the tone that is known now, once.
    mutating func pass(until time: Double) -> Int? {
        let running = time - since
        for index in patterns.indices {
            let pattern = patterns[index]
            paths[index].removeAll { path in
                pattern.elements[path.element].length.map { running > $0 + pattern.tolerance($0) } ?? false
            }
        }
        guard let known = patterns.indices.first(where: { $0 != reported && isKnown($0, running) }) else { return nil }
        reported = known
        return known
    }

    /// Whether enough of a pattern fitted.
    private func isKnown(_ index: Int, _ running: Double) -> Bool {
        let pattern = patterns[index]
        if let steady = pattern.steady { return running >= steady && !paths[index].isEmpty }
        return paths[index].contains { path in
            if pattern.kinds > 1 || pattern.length >= 2400 { return path.sounds >= pattern.sounds }
            return path.matched >= 3 && path.time >= 1200
        }
    }
}
