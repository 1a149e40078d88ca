// How many calls a second are to begin, over time. Everything is reckoned from the start of the run, never from the call before, so
// that no error adds up: the n-th call begins where the sum of the rate reaches n.

/// A rate over time, of pieces that hold it or change it evenly. Seconds from the start of the run; calls a second.
package struct RateProfile: Equatable, Sendable {
    /// A stretch of time; the last one may be endless.
    package struct Piece: Equatable, Sendable {
        package var start: Double
        /// Seconds; `.infinity` for a rate that holds until the end.
        package var length: Double
        package var from: Double
        package var to: Double
        /// Calls that began before this piece.
        package var callsBefore: Double

        package var end: Double { start + length }

        /// Calls a second when so many of its own have passed.
        func rate(after seconds: Double) -> Double { from == to ? from : from + (to - from) * seconds / length }

        /// Calls of this piece that began within its first `seconds`.
        func calls(in seconds: Double) -> Double {
            guard from != to else { return from * seconds }
            return from * seconds + (to - from) / (2 * length) * seconds * seconds
        }
    }

    package private(set) var pieces: [Piece] = []

    private init() {}

    package static func constant(_ rate: Double) -> RateProfile {
        var profile = RateProfile()
        profile.append(length: .infinity, from: rate, to: rate)
        return profile
    }

    /// Evenly from one rate to the other, which holds from then on.
    package static func ramp(from: Double, to: Double, seconds: Double) -> RateProfile {
        var profile = RateProfile()
        profile.append(length: seconds, from: from, to: to)
        profile.append(length: .infinity, from: to, to: to)
        return profile
    }

    /// One rate after the other; the last length may be `.infinity`. After a last finite one no more calls begin.
    package static func steps(_ steps: [(rate: Double, seconds: Double)]) -> RateProfile {
        var profile = RateProfile()
        for step in steps { profile.append(length: step.seconds, from: step.rate, to: step.rate) }
        return profile
    }

    private mutating func append(length: Double, from: Double, to: Double) {
        let last = pieces.last
        let before = last.map { $0.callsBefore + $0.calls(in: $0.length) } ?? 0
        pieces.append(Piece(start: last?.end ?? 0, length: length, from: from, to: to, callsBefore: before))
    }

    /// When the last piece ends; `.infinity` when it does not.
    package var end: Double { pieces.last?.end ?? 0 }

    /// The highest rate of all.
    package var peak: Double { pieces.map { max($0.from, $0.to) }.max() ?? 0 }

    /// Calls a second at this time.
    package func rate(at seconds: Double) -> Double {
        guard let piece = pieces.last(where: { $0.start <= seconds }), seconds < piece.end else { return 0 }
        return piece.rate(after: seconds - piece.start)
    }

    /// How many calls have begun by then.
    package func calls(by seconds: Double) -> Double {
        guard let piece = pieces.last(where: { $0.start <= seconds }) else { return 0 }
        return piece.callsBefore + piece.calls(in: min(seconds - piece.start, piece.length))
    }

    /// When the call with this number begins (0 is the first); `.infinity` when none does.
    package func time(ofCall number: Double) -> Double {
        // The sum is the same as in `append`: rounding leaves no gap between two pieces.
        for piece in pieces where number < piece.callsBefore + piece.calls(in: piece.length) {
            let wanted = number - piece.callsBefore
            guard piece.from != piece.to else { return piece.start + wanted / piece.from }
            // from·t + a·t² = wanted, in the form that does not lose digits when `a` is small.
            let a = (piece.to - piece.from) / (2 * piece.length)
            let root = max(0, piece.from * piece.from + 4 * a * wanted).squareRoot()
            let divisor = piece.from + root
            return piece.start + (divisor > 0 ? 2 * wanted / divisor : 0)
        }
        return .infinity
    }

    /// So many times the rate from then on; what began before stays.
    package mutating func scale(by factor: Double, at seconds: Double) {
        let before = pieces
        pieces = []
        for piece in before {
            let part = min(max(0, seconds - piece.start), piece.length)
            let middle = piece.rate(after: part)
            if part > 0 { append(length: part, from: piece.from, to: middle) }
            if part < piece.length { append(length: piece.length - part, from: middle * factor, to: piece.to * factor) }
        }
    }
}
