package import Basics

/// A key: `0` to `9`, `*`, `#`, `A` to `D`, and `!`, the flash of a hook (RFC 4733 event 16), which has no tone.
package struct Digit: Hashable, Sendable, CustomStringConvertible {
    package let character: Character

    /// nil for any other character; `a` to `d` are taken as `A` to `D`.
    package init?(_ character: Character) {
        let upper = Character(character.uppercased())
        guard "0123456789*#ABCD!".contains(upper) else { return nil }
        self.character = upper
    }

    package static let flash = Digit("!")!

    package var description: String { String(character) }
}

/// The ways in which a key arrives.
package enum DigitSource: String, Hashable, Sendable, CaseIterable {
    case rfc4733
    case info
    case inband
}

/// A key that the far side pressed. One press is one `began` and one `ended`, whatever the number of packets and ways.
package struct DigitEvent: Equatable, Sendable {
    package enum Phase: Equatable, Sendable {
        case began
        case ended
    }

    package var digit: Digit
    package var phase: Phase
    package var source: DigitSource
    package var at: Instant

    package init(digit: Digit, phase: Phase, source: DigitSource, at: Instant) {
        self.digit = digit
        self.phase = phase
        self.source = source
        self.at = at
    }
}

/// The keys of a call. While nobody reads they are kept (type-ahead, the newest 128); a reader gets each at once, in the turn in
/// which its packet was read, so that barge-in is immediate. Belongs to the call's loop.
package final class DigitInbox {
    /// Events that nobody took yet, oldest first.
    package private(set) var waiting: [DigitEvent] = []
    private var reader: ((DigitEvent) -> Void)?
    /// Everything that was received, for results; nothing is recorded while `isSecret`.
    package private(set) var history = ""
    /// While true, keys stay out of `history`.
    package var isSecret = false
    /// Some keys were kept out of it.
    package private(set) var hasSecrets = false
    private static let capacity = 256

    package init() {}

    package func receive(_ event: DigitEvent) {
        if event.phase == .began {
            if isSecret { hasSecrets = true } else { history.append(event.digit.character) }
        }
        if let reader {
            reader(event)
        } else {
            if waiting.count == Self.capacity { waiting.removeFirst() }
            waiting.append(event)
        }
    }

    /// Takes what waits and hands everything further to `reader`, until `stopReading`.
    package func read(_ reader: @escaping (DigitEvent) -> Void) -> [DigitEvent] {
        precondition(self.reader == nil, "one reader at a time")
        self.reader = reader
        defer { waiting.removeAll() }
        return waiting
    }

    package func stopReading() { reader = nil }

    /// Takes the keys that wait out of `history`: they turn out to be secret.
    package func hideWaiting() {
        let count = min(history.count, waiting.reduce(0) { $0 + ($1.phase == .began ? 1 : 0) })
        history.removeLast(count)
        if count > 0 { hasSecrets = true }
    }

    /// Forgets what waits.
    package func flush() { waiting.removeAll() }

    /// Gives back what a reader did not use: it comes first in the next entry.
    package func putBack(_ events: [DigitEvent]) { waiting.insert(contentsOf: events, at: 0) }
}

/// How keys are sent.
package struct SendDigitsOptions: Equatable, Sendable {
    package enum Method: String, Equatable, Sendable, CaseIterable {
        /// RFC 4733 when it was negotiated, INFO otherwise.
        case auto
        case rfc4733
        case info
        case inband
    }

    package var method: Method
    /// 40 ms to 8 s.
    package var duration: Duration
    package var gap: Duration
    /// Traces do not show them.
    package var isSecret = false

    package init(method: Method = .auto, duration: Duration = .milliseconds(160), gap: Duration = .milliseconds(80)) {
        self.method = method
        self.duration = duration
        self.gap = gap
    }
}
