// The messages of calls that run, each call's by its Call-ID, so that a call that did not pass can be shown as a ladder. Bounded: of calls
// and messages beyond, the oldest are forgotten.

import Basics
package import CallEngine
import Reactor

package final class CallLadders: Sendable {
    private struct State {
        var messages: [String: [TracedMessage]] = [:]
        /// In the order of their first messages.
        var order: [String] = []
        var head = 0
    }

    private let state = Locked(State())
    private let capacity: Int
    private static let messagesOfACall = 60

    /// - Parameter capacity: calls.
    package init(capacity: Int) { self.capacity = capacity }

    /// From any thread.
    package func add(_ message: TracedMessage) {
        guard let callID = Self.callID(of: message.bytes) else { return }
        state.withLock { state in
            if state.messages[callID] == nil {
                state.order.append(callID)
                while state.order.count - state.head > capacity {
                    state.messages[state.order[state.head]] = nil
                    state.head += 1
                }
                if state.head > capacity {
                    state.order.removeFirst(state.head)
                    state.head = 0
                }
            }
            if state.messages[callID, default: []].count < Self.messagesOfACall {
                state.messages[callID, default: []].append(message)
            }
        }
    }

    /// The messages of a call, which are forgotten; none when nothing is known of it.
    package func take(_ callID: String) -> [TracedMessage] {
        // Messages of several loops come in another order than they were sent in.
        state.withLock({ $0.messages.removeValue(forKey: callID) })?.sorted { $0.at < $1.at } ?? []
    }

    /// The ladder of a test: the caller, the system between, and each party, on one clock; nil when nothing is known.
    /// - Parameter halves: the caller's first.
    package static func ladder(_ halves: [(name: String, messages: [TracedMessage])], between: String) -> String? {
        // The system is the second lane.
        let lanes = halves.enumerated().flatMap { index, half in half.messages.map { (lane: index == 0 ? 0 : index + 1, $0) } }
            .sorted { $0.1.at < $1.1.at }
        guard let first = lanes.first else { return nil }
        var names = halves.map(\.name)
        names.insert(between, at: 1)
        let ladder = Ladder(names, start: first.1.at)
        let lines = lanes.map { lane, message in
            let isSent = message.direction == .sent
            return ladder.message(
                Ladder.label(of: message.bytes), from: isSent ? lane : 1, to: isSent ? 1 : lane, at: message.at)
        }
        return ([ladder.heading] + lines).joined(separator: "\n")
    }

    /// The ladder of a call, which is forgotten; nil when nothing is known of it.
    package func take(_ callID: String, here: String, there: String) -> String? {
        let messages = take(callID)
        guard let first = messages.first else { return nil }
        let ladder = Ladder([here, there], start: first.at)
        let lines = messages.map {
            let isSent = $0.direction == .sent
            return ladder.message(Ladder.label(of: $0.bytes), from: isSent ? 0 : 1, to: isSent ? 1 : 0, at: $0.at)
        }
        return ([ladder.heading] + lines).joined(separator: "\n")
    }

    /// The value of Call-ID or its short form.
    static func callID(of bytes: [UInt8]) -> String? {
        var start = 0
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = bytes[start..<end]
            start = end + 1
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon - line.startIndex <= 8 else { continue }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased().filter { !$0.isWhitespace }
            guard name == "call-id" || name == "i" else { continue }
            return String(decoding: line[(colon + 1)...], as: UTF8.self).filter { !$0.isWhitespace }
        }
        return nil
    }
}
