// The rules of one transaction and of one dialog, in the fewest words that hold.

import Basics
import SIP

/// A client transaction (section 17.1).
struct ClientRules {
    let method: String
    private var octets: [UInt8] = []
    private var sends: [Instant] = []
    private var final: Int?
    private(set) var hasProvisional = false

    init(method: String) { self.method = method }

    private var isInvite: Bool { method == "INVITE" }
    var isFinal: Bool { final != nil }
    var hasRefusal: Bool { final.map { $0 >= 300 } ?? false }

    /// nil, or the rule that is broken.
    mutating func sent(_ message: [UInt8], at now: Instant) -> String? {
        defer { sends.append(now) }
        guard let last = sends.last else {
            octets = message
            return nil
        }
        if message != octets { return "\(method) repeated with other octets" }
        if isFinal { return "\(method) repeated after its final answer" }
        if isInvite, hasProvisional { return "INVITE repeated after a provisional answer (section 17.1.1.2)" }
        // T1 doubles, up to T2 but for INVITE; INVITE ends with timer B, the others with timer F.
        let doubled = Duration.milliseconds(500) * (1 << min(sends.count - 1, 10))
        let gap = isInvite ? doubled : min(doubled, .seconds(4))
        if now - last < gap { return "\(method) repeated after \((now - last).milliseconds) ms" }
        if now - sends[0] > .seconds(32) + .milliseconds(10) { return "\(method) repeated after 64 times T1" }
        return nil
    }

    /// Whether an answer still finds somebody: twice timer B after the first INVITE, when nobody had answered it.
    func isAwaited(at now: Instant) -> Bool {
        hasProvisional || sends.first.map { now - $0 <= .seconds(64) } ?? false
    }

    mutating func received(_ status: Int) {
        if status < 200 { hasProvisional = true } else if final == nil { final = status }
    }

    /// A request that nobody answers ends by its timer: nothing is held for it, which the engines' own counts tell.
    var atEnd: String? { sends.count > 11 ? "\(method) sent \(sends.count) times" : nil }
}

/// A server transaction (section 17.2).
struct ServerRules {
    let method: String
    private(set) var dialog = ""
    private var receipts = 0
    private var final: Message?
    private var sends = 0
    var isAcknowledged = false

    init(method: String) { self.method = method }

    private var isInvite: Bool { method == "INVITE" }

    mutating func received(_ dialog: String) {
        receipts += 1
        if receipts == 1 { self.dialog = dialog }
    }

    /// nil, or the rule that is broken.
    mutating func sent(_ response: Message) -> String? {
        if receipts == 0 { return "a response to nothing" }
        guard response.status >= 200 else { return final == nil ? nil : "a provisional response after the final one" }
        sends += 1
        guard let final else {
            final = response
            return nil
        }
        if response.octets != final.octets { return "another final response than before" }
        if isInvite, isAcknowledged { return "a response repeated after its ACK" }
        // Timers G and the 2xx's own end with 64 times T1: 0.5, 1, 2, 4, 4 … seconds make eleven; each repeated INVITE may ask for one more.
        if isInvite { return sends <= 11 + receipts ? nil : "a response sent \(sends) times" }
        return sends <= receipts ? nil : "a response that nobody asked for again"
    }

    var atEnd: String? { receipts > 0 && final == nil ? "\(method) that was never answered" : nil }
}

/// A dialog from one end, by the tag of this end (section 12).
struct DialogRules {
    private var latest: UInt32 = 0
    private var hasLeft = false
    private var hasPeerLeft = false
    private var answers = 0
    private var acknowledgements = 0
    private var hasPeerCrashed = false

    /// A new request of this end.
    mutating func starts(_ method: String, number: UInt32) -> String? {
        if number <= latest { return "CSeq \(number) after \(latest) (section 12.2.1.1)" }
        latest = number
        if hasLeft { return "\(method) after our BYE" }
        if hasPeerLeft { return "\(method) after the peer's BYE" }
        if method == "BYE" { hasLeft = true }
        return nil
    }

    mutating func peerLeft() { hasPeerLeft = true }
    mutating func peerCrashed() { hasPeerCrashed = true }
    mutating func answered() { answers += 1 }

    mutating func acknowledged() -> String? {
        acknowledgements += 1
        return acknowledgements <= answers || hasPeerCrashed ? nil : "an ACK that no 2xx asked for"
    }

    /// Each 2xx to INVITE is acknowledged, as often as it comes (section 13.2.2.4).
    var atEnd: String? { answers == acknowledgements || hasPeerCrashed ? nil : "\(answers) answers and \(acknowledgements) ACKs" }
}
