// "Did you mean …": the known word nearest to an unknown one.

/// Finds the word somebody probably meant.
package enum NearestWord {
    /// The nearest of `known` to `word`, or nil when none is near: at most one change for short words, a third of the length
    /// for longer ones. A change is a letter added, left out, replaced, or swapped with its neighbour. Of two that are equally
    /// near the first in the order of the alphabet is taken, so that the answer is always the same.
    package static func find(_ word: String, in known: some Sequence<String>) -> String? {
        let letters = Array(word.lowercased().unicodeScalars.prefix(64))
        var best: (distance: Int, word: String)?
        for candidate in known where candidate != word {
            let other = Array(candidate.lowercased().unicodeScalars.prefix(64))
            let allowed = max(1, min(4, max(letters.count, other.count) / 3))
            guard abs(letters.count - other.count) <= allowed else { continue }
            let distance = distance(letters, other)
            // A word of one or two letters that shares none with the candidate is no slip of the pen.
            guard distance <= allowed, distance < max(letters.count, other.count) else { continue }
            if let current = best, (current.distance, current.word) <= (distance, candidate) { continue }
            best = (distance, candidate)
        }
        return best?.word
    }

    /// The number of changes between two words (Damerau and Levenshtein, each pair of neighbours swapped at most once).
    package static func distance(_ left: String, _ right: String) -> Int {
        distance(Array(left.unicodeScalars), Array(right.unicodeScalars))
    }

    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        if left.isEmpty || right.isEmpty { return max(left.count, right.count) }
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in 1...left.count {
            var current = [row]
            current.reserveCapacity(right.count + 1)
            for column in 1...right.count {
                let replaced = last[column - 1] + (left[row - 1] == right[column - 1] ? 0 : 1)
                var fewest = min(replaced, last[column] + 1, current[column - 1] + 1)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    fewest = min(fewest, beforeLast[column - 2] + 1)
                }
                current.append(fewest)
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
