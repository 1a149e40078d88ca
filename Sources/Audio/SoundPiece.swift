// A recording cut into its sounds, to be looked for in another one by one: what is lost or shifted between them costs no more than
// itself. Pure.

/// One sound of a recording at 8 kHz, at most a second long.
package struct SoundPiece: Equatable, Sendable {
    /// In samples.
    package var range: Range<Int>
    /// There is a pause before it.
    package var isBeginning: Bool

    package static let rate = 8000
    /// The pause that parts two sounds, in samples.
    package static let pause = rate / 5
    /// Correlation from which on it is the same: codecs and concealment leave more, other speech less.
    package static let likeness = 0.5

    private static let frame = 160
    /// What is softer is no sound: about -45 dBm0.
    private static let floor = 180.0
    private static let longest = rate
    private static let shortest = rate / 10

    /// Where what is looked for begins: with the pause before a beginning; negative where the recording begins later.
    package var first: Int { range.lowerBound - (isBeginning ? Self.pause : 0) }

    /// What is looked for. Before the recording nothing was said.
    package func reference(in samples: [Int16]) -> [Int16] {
        Array(repeating: 0, count: max(0, -first)) + samples[max(0, first)..<range.upperBound]
    }

    /// The sounds that begin before the sample `until`.
    package static func pieces(of samples: [Int16], until: Int) -> [SoundPiece] {
        var pieces: [SoundPiece] = []
        var begin: Int?
        var lastLoud = 0
        var isBeginning = true
        var silentSince = -pause
        func close(at end: Int) {
            if let first = begin, end - first >= shortest {
                pieces.append(SoundPiece(range: first..<end, isBeginning: isBeginning))
            }
            begin = nil
        }
        var place = 0
        while place + frame <= until {
            let energy = samples[place..<place + frame].reduce(0.0) { $0 + Double(Int($1) * Int($1)) }
            let isLoud = (energy / Double(frame)).squareRoot() >= floor
            if isLoud {
                if begin == nil {
                    isBeginning = place - silentSince >= pause
                    begin = place
                } else if let first = begin, place + frame - first >= longest {
                    close(at: place + frame)
                    // What goes on without a pause is no beginning.
                    silentSince = place + frame
                }
                lastLoud = place + frame
            } else if begin != nil, place + frame - lastLoud >= pause {
                close(at: lastLoud)
                silentSince = lastLoud
            }
            place += frame
        }
        if begin != nil { close(at: lastLoud) }
        return pieces
    }
}
