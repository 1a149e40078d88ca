// One key is one digit, whatever the number of ways that it arrives by. A sender may tell the same press by telephone-event, by INFO and
// as sound; each way tells each press once. So what comes by a second way within a second belongs to the oldest press of that key
// which this way has not told yet; what comes by the way that told a press first is always a new press.

import Basics

struct DigitMerger {
    private struct Press {
        var digit: Digit
        var source: DigitSource
        var isOpen: Bool
        /// The last time that it was told of.
        var at: Instant
        /// Ways that told it, a bit each.
        var told: UInt8
    }

    static let window = Duration.seconds(1)
    private var presses: [Press] = []
    /// Presses that came again by another way.
    private(set) var mergedCount: UInt64 = 0

    /// Whether this is a new press, to be told.
    mutating func began(_ digit: Digit, by source: DigitSource, at now: Instant) -> Bool {
        presses.removeAll { !$0.isOpen && now - $0.at > Self.window }
        for index in presses.indices where presses[index].digit == digit && presses[index].told & source.bit == 0 {
            presses[index].told |= source.bit
            mergedCount += 1
            return false
        }
        // An end that never came keeps no list.
        if presses.count == 16 { presses.removeFirst() }
        presses.append(Press(digit: digit, source: source, isOpen: true, at: now, told: source.bit))
        return true
    }

    /// Whether the end of this press is to be told: it is the way that told its beginning.
    mutating func ended(_ digit: Digit, by source: DigitSource, at now: Instant) -> Bool {
        guard let index = presses.lastIndex(where: { $0.digit == digit && $0.source == source && $0.isOpen }) else {
            return false
        }
        presses[index].isOpen = false
        presses[index].at = now
        return true
    }
}

extension DigitSource {
    fileprivate var bit: UInt8 {
        switch self {
        case .rfc4733: 1
        case .info: 2
        case .inband: 4
        }
    }
}

extension Digit {
    /// The event code of RFC 4733 table 3.
    var eventCode: UInt8 {
        switch character {
        case "*": 10
        case "#": 11
        case "A": 12
        case "B": 13
        case "C": 14
        case "D": 15
        case "!": 16
        default: UInt8(character.wholeNumberValue ?? 0)
        }
    }

    /// nil for codes that are no keys.
    init?(eventCode: UInt8) {
        guard eventCode <= 16 else { return nil }
        self.init(Character(Unicode.Scalar(Self.keys[Int(eventCode)])))
    }

    private static let keys = Array("0123456789*#ABCD!".utf8)
}
