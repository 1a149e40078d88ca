// A second opinion on the state machines: what one engine receives and sends, held against the rules of RFC 3261 by its messages alone.
// It knows nothing of the engine's own states. Times are those of the virtual clock.

import Basics
import CallEngine
import Reactor
import SIP

/// Watches one engine from its start to its end.
final class MachineWatch: Sendable {
    private let state = Locked(WatchedMessages())

    /// For `Engine(trace:)`.
    var trace: @Sendable (TracedMessage) -> Void { { [state] message in state.withLock { $0.see(message) } } }

    /// What broke a rule, by Call-ID; at the end of a run.
    var faults: [(callID: String, words: String)] { state.withLock { $0.faults } }

    /// The peer of all dialogs so far is gone: what of it is still on the way need not be acknowledged.
    func peerCrashes() { state.withLock { $0.peerCrashes() } }

    /// Everything must have come to its end; call it when all timers have run out.
    func expectEnd() { state.withLock { $0.end() } }

    /// What passed in one call.
    func ladder(_ callID: String) -> String { state.withLock { $0.ladder(callID) } }

    /// The ladders of the first calls with faults, for a failure's report.
    var report: String {
        faults.prefix(3).map { "\($0.words)\n\(ladder($0.callID))" }.joined(separator: "\n")
    }
}

/// The state of all transactions and dialogs, as the messages tell it.
struct WatchedMessages {
    private(set) var faults: [(callID: String, words: String)] = []
    private var ladders: [String: CallLadder] = [:]
    private var clients: [String: ClientRules] = [:]
    private var servers: [String: ServerRules] = [:]
    private var dialogs: [String: DialogRules] = [:]
    /// INVITEs that this end answered with 2xx, by dialog and CSeq: what their ACKs have.
    private var answered: [String: String] = [:]

    mutating func see(_ traced: TracedMessage) {
        guard let message = try? Message(parsing: traced.bytes) else { return fault("?", "a message that cannot be read") }
        let callID = String(decoding: message.callID, as: UTF8.self)
        let isSent = traced.direction == .sent
        let direction: CallInfo.Direction = message.isRequest == isSent ? .outbound : .inbound
        ladders[callID, default: CallLadder(direction: direction, start: traced.at)].add(traced)
        guard let branch = (try? message.topVia()).map({ String(decoding: $0.branch, as: UTF8.self) }) else {
            return fault(callID, "a message without a branch")
        }
        let method = message.isRequest ? message.methodName : String(decoding: message[message.cSeqMethodRange], as: UTF8.self)
        var words: String?
        switch (message.isRequest, isSent) {
        case (true, true): words = sent(message, callID, branch, method, at: traced.at)
        case (true, false): words = received(message, callID, branch, method)
        case (false, true):
            words = servers["\(branch) \(method)", default: ServerRules(method: method)].sent(message)
            if method == "INVITE", (200..<300).contains(message.status) {
                answered["\(dialogKey(message, isOurs: false)) \(message.cSeq)"] = "\(branch) INVITE"
            }
        case (false, false):
            if clients["\(branch) \(method)"] == nil { break }
            let isAwaited = clients["\(branch) \(method)"]!.isAwaited(at: traced.at)
            clients["\(branch) \(method)"]!.received(message.status)
            if method == "INVITE", (200..<300).contains(message.status), isAwaited {
                dialogs[dialogKey(message, isOurs: true), default: DialogRules()].answered()
            }
        }
        if let words { fault(callID, "\(words): \(Ladder.label(of: traced.bytes))") }
    }

    /// Requests of this end.
    private mutating func sent(
        _ message: Message, _ callID: String, _ branch: String, _ method: String, at now: Instant
    ) -> String? {
        let dialog = dialogKey(message, isOurs: true)
        if method == "ACK" {
            // One for a refusal has its INVITE's branch (section 17.1.1.3), one for a 2xx is on its own (section 13.2.2.4).
            if let invite = clients["\(branch) INVITE"] { return invite.hasRefusal ? nil : "ACK before a refusal" }
            return dialogs[dialog, default: DialogRules()].acknowledged()
        }
        if method == "CANCEL" {
            guard let invite = clients["\(branch) INVITE"] else { return "CANCEL of no INVITE" }
            let isRepeated = clients["\(branch) CANCEL"] != nil
            if !isRepeated, !invite.hasProvisional { return "CANCEL before a response (section 9.1)" }
            if !isRepeated, invite.isFinal { return "CANCEL after the final answer (section 9.1)" }
        } else if clients["\(branch) \(method)"] == nil,
            let words = dialogs[dialog, default: DialogRules()].starts(method, number: message.cSeq)
        {
            return words
        }
        return clients["\(branch) \(method)", default: ClientRules(method: method)].sent(message.octets, at: now)
    }

    /// Requests of the peer.
    private mutating func received(_ message: Message, _ callID: String, _ branch: String, _ method: String) -> String? {
        let dialog = dialogKey(message, isOurs: false)
        if method == "ACK" {
            servers[answered["\(dialog) \(message.cSeq)"] ?? "\(branch) INVITE"]?.isAcknowledged = true
            return nil
        }
        servers["\(branch) \(method)", default: ServerRules(method: method)].received(dialog)
        if method == "BYE" { dialogs[dialog, default: DialogRules()].peerLeft() }
        return nil
    }

    /// A dialog as this end sees it before it knows the peer's tag: Call-ID and our tag. Requests of ours have it in From, others in To.
    private func dialogKey(_ message: Message, isOurs: Bool) -> String {
        let address = isOurs ? try? message.from() : try? message.to()
        let tag = address?.tag.map { String(decoding: $0, as: UTF8.self) } ?? ""
        return "\(String(decoding: message.callID, as: UTF8.self)) \(tag)"
    }

    private mutating func fault(_ callID: String, _ words: String) { faults.append((callID, words)) }

    mutating func peerCrashes() {
        for key in dialogs.keys { dialogs[key]!.peerCrashed() }
    }

    mutating func end() {
        for (key, client) in clients { if let words = client.atEnd { fault(self.callID(ofBranch: key), words) } }
        for (key, server) in servers { if let words = server.atEnd { fault(self.callID(ofBranch: key), words) } }
        for (key, dialog) in dialogs {
            if let words = dialog.atEnd { fault(String(key.prefix { $0 != " " }), words) }
        }
    }

    private func callID(ofBranch key: String) -> String {
        (servers[key]?.dialog ?? "?").split(separator: " ").first.map(String.init) ?? key
    }

    func ladder(_ callID: String) -> String { ladders[callID]?.text ?? "(no messages of \(callID))" }
}
