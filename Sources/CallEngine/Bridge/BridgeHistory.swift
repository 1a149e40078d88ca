// What the legs of a bridge are told of where the call has been (History-Info, RFC 7044 section 9): what came with it, this end, the legs that
// did not answer with their reasons, and the leg itself.

import SIP

/// The history of a call that came in and goes on.
struct BridgeHistory {
    private var history: HistoryInfo
    /// The index of this end's entry.
    private let own: [Int]
    /// The number of the latest leg.
    private var number = 0

    /// nil for a call that goes out, and for one whose caller does not want it told.
    init?(of caller: Call) {
        guard let told = caller.historyToHere else { return nil }
        (history, own) = told
    }

    /// For the INVITE of the next leg.
    mutating func next() -> HistoryOfLeg {
        number += 1
        return HistoryOfLeg(history: history, index: own + [number], origin: own)
    }

    /// A leg was not answered; where it went by itself (3xx) is told as well.
    mutating func ended(_ leg: Call, status: Int) {
        guard let invite = leg.session?.machine.invite else { return }
        var told = HistoryInfo(invite)
        guard let last = told.entries.last?.index, last.count > own.count, last.starts(with: own) else { return }
        if status >= 300 { told.fail(last, status: status) }
        history.append(contentsOf: told.entries)
        number = max(number, last[own.count])
    }
}

/// The history of one leg, before it is known where exactly it goes.
struct HistoryOfLeg: Sendable {
    var history: HistoryInfo
    /// Of the leg's target, and of who sends it there.
    var index: [Int]
    var origin: [Int]

    /// The rows of its INVITE. A device of a user is told with the user's address before it.
    func rows(to target: OutgoingTarget, line: LineSettings?) -> [UInt8] {
        var result = line?.keepsPrivate == true ? history : history.hidingPrivate()
        if target.device == nil {
            result.append(target.uri.target, index, .user, from: origin)
        } else {
            result.append(Array(target.to.dropFirst().dropLast()), index, .user, from: origin)
            result.append(target.uri.target, index + [1], .contact, from: index)
        }
        return result.rows
    }
}

extension CallRequest {
    /// The rows by which a call begins its history, and asks for that of its answer.
    func historyRows(to target: OutgoingTarget) -> [UInt8] {
        var first = HistoryInfo()
        if history == nil, !HistoryInfo.isHidden(by: privacy) { first.append(target.uri.target, [1]) }
        return Array("Supported: histinfo\r\n".utf8) + first.rows
    }
}

extension LineSettings {
    /// The network behind the line believes this end (RFC 3325), and keeps from others what is private.
    var keepsPrivate: Bool { identity == .asserted }
}
