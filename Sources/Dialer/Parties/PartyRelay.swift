// How a call that came to one worker is told to the one whose test it belongs to: a header of the INVITE between them.
//
//   X-Ringwright-Relay: worker=2;by=mark;ms=3;line=desk

import Basics

struct PartyRelay: Equatable, Sendable {
    static let header = "X-Ringwright-Relay"

    /// Who passes it on.
    var worker: Int
    /// What told whose call it is.
    var match: PartyBoard.Match
    /// The line that it came by; empty without one.
    var line: String
    /// What it took until it was passed on.
    var delay: Duration

    private static let longest: Int64 = 60_000

    init(worker: Int, match: PartyBoard.Match, line: String, delay: Duration) {
        (self.worker, self.match, self.line, self.delay) = (worker, match, line, delay)
    }

    /// Reads the header's value; nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: ";", maxSplits: 3)
        guard parts.count == 4, zip(parts, ["worker=", "by=", "ms=", "line="]).allSatisfy({ $0.hasPrefix($1) }) else {
            return nil
        }
        let values = parts.map { String($0.drop { $0 != "=" }.dropFirst()) }
        guard let worker = Int(values[0]), let match = PartyBoard.Match(rawValue: values[1]), let delay = Int64(values[2]),
            0...Self.longest ~= delay
        else { return nil }
        self.init(worker: worker, match: match, line: values[3], delay: .milliseconds(delay))
    }

    var text: String {
        let delay = min(Int64(delay.milliseconds.rounded()), Self.longest)
        return "worker=\(worker);by=\(match.rawValue);ms=\(delay);line=\(line)"
    }
}
