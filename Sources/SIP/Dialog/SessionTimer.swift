// Session timers (RFC 4028): both ends agree on an interval after which a session that nobody refreshed is over. A pure machine: it
// writes and reads Session-Expires and Min-SE, and says when to refresh and when to give up. How a refresh is sent (UPDATE or
// re-INVITE) is the session's business.
//
//   state     means                              at its deadline
//   off       no interval was agreed             nothing
//   ours      this end refreshes                 half of the interval: refresh; then, without a 2xx, near the end: expired
//   theirs    the other end refreshes            min(32 s, a third) before the end: expired (section 10)

package import Basics

/// The timer of one session.
package struct SessionTimer: Sendable {
    /// What this end wants.
    package struct Settings: Sendable, Equatable {
        /// The interval that is asked for, in whole seconds; nil: none is asked for, but one that the other end asks for is kept.
        package var interval: Int?
        /// The shortest interval that is accepted, in seconds; 90 at least (section 4).
        package var minimum: Int

        package init(interval: Int? = nil, minimum: Int = 90) {
            precondition(minimum >= 90 && (interval ?? minimum) >= minimum, "intervals are 90 s or more (RFC 4028 section 4)")
            self.interval = interval
            self.minimum = minimum
        }
    }

    package enum State: Sendable, Equatable { case off, ours, theirs }

    /// What is due.
    package enum Due: Sendable, Equatable {
        /// Send a request that refreshes the session.
        case refresh
        /// Nobody refreshed: send BYE.
        case expired
    }

    package private(set) var state = State.off
    /// What was agreed on, in seconds; nil when `off`.
    package private(set) var interval: Int?
    private let settings: Settings
    /// What the next request asks for: grows with the Min-SE of a 422 and of the other end's requests.
    private var wanted: Int?
    private var minimum: Int
    private var refreshAt = Instant.never
    private var endAt = Instant.never

    package init(_ settings: Settings) {
        self.settings = settings
        wanted = settings.interval
        minimum = settings.minimum
    }

    // MARK: Our INVITE, re-INVITE or UPDATE

    /// Rows for a request of ours that starts or refreshes the session, each ended by CRLF. In a refresh the refresher stays who it
    /// is, said from the side of this request (section 7.4).
    package func requestRows() -> [UInt8] {
        var writer = MessageWriter(capacity: 64)
        if let asked = interval ?? wanted {
            writer.append("Session-Expires: ")
            writer.append(asked)
            switch state {
            case .off: break
            case .ours: writer.append(";refresher=uac")
            case .theirs: writer.append(";refresher=uas")
            }
            writer.endLine()
        }
        if minimum > 90 {
            writer.append("Min-SE: ")
            writer.append(minimum)
            writer.endLine()
        }
        return writer.octets
    }

    /// The 2xx to a request with `requestRows`. Without Session-Expires the session has no timer (section 7.2).
    package mutating func accepted(_ response: Message, at now: Instant) {
        guard let seconds = response.number(.sessionExpires), seconds > 0 else { return stop() }
        start(seconds, isOurs: refresher(in: response) != .uas, at: now)
    }

    /// A 422: takes over its Min-SE. True when the request may be sent again with the longer interval.
    package mutating func raise(by response: Message) -> Bool {
        guard response.status == 422, let needed = response.number(.minSE), needed > (interval ?? wanted ?? 0),
            needed <= Self.longest
        else { return false }
        minimum = max(minimum, needed)
        wanted = needed
        if interval != nil { interval = needed }
        return true
    }

    // MARK: Their INVITE, re-INVITE or UPDATE

    /// The row of Min-SE for a 422, when the interval that a request asks for is too short; nil when it is acceptable.
    package func refusal(of request: Message) -> [UInt8]? {
        guard let asked = request.number(.sessionExpires), asked < settings.minimum, request.lists(.supported, "timer") else {
            return nil
        }
        return Array("Min-SE: \(settings.minimum)\r\n".utf8)
    }

    /// Rows for our 2xx to a request, each ended by CRLF, and the timer from now on. A refresher that the request names is kept; one
    /// that it leaves open becomes the other end, when that knows session timers (section 9, table 2).
    package mutating func accept(_ request: Message, at now: Instant) -> [UInt8] {
        let asked = request.number(.sessionExpires)
        if asked == nil, settings.interval == nil {
            stop()
            return []
        }
        let knows = request.lists(.supported, "timer")
        minimum = max(minimum, request.number(.minSE) ?? 0)
        let seconds = asked ?? max(settings.interval ?? minimum, minimum)
        let isTheirs = knows && refresher(in: request) != .uas
        start(min(seconds, Self.longest), isOurs: !isTheirs, at: now)
        var writer = MessageWriter(capacity: 64)
        if isTheirs { writer.append("Require: timer\r\n") }
        writer.append("Session-Expires: ")
        writer.append(interval ?? seconds)
        writer.append(isTheirs ? ";refresher=uac\r\n" : ";refresher=uas\r\n")
        return writer.octets
    }

    // MARK: Time

    /// When `fire` has something to say.
    package var nextDeadline: Instant { min(refreshAt, endAt) }

    package mutating func fire(at now: Instant) -> Due? {
        if now >= endAt {
            stop()
            return .expired
        }
        guard now >= refreshAt else { return nil }
        refreshAt = .never
        return .refresh
    }

    /// The refresh could not be sent now, or was refused for the moment (491, 500): it is tried again after `pause`, as long as the
    /// session lasts.
    package mutating func retry(after pause: Duration, at now: Instant) {
        if state == .ours, refreshAt == .never { refreshAt = now + pause }
    }

    /// The session is over, or has no timer any more.
    package mutating func stop() {
        (state, interval, refreshAt, endAt) = (.off, nil, .never, .never)
    }

    private enum Refresher { case uac, uas }

    private func refresher(in message: Message) -> Refresher? {
        guard let value = message.parameters(.sessionExpires)?["refresher"] else { return nil }
        if equalsIgnoringCase(value, Array("uac".utf8)) { return .uac }
        return equalsIgnoringCase(value, Array("uas".utf8)) ? .uas : nil
    }

    /// A day: what is longer is taken as this.
    private static let longest = 86_400

    private mutating func start(_ seconds: Int, isOurs: Bool, at now: Instant) {
        let seconds = min(seconds, Self.longest)
        interval = seconds
        state = isOurs ? .ours : .theirs
        refreshAt = isOurs ? now + .milliseconds(seconds * 500) : .never
        endAt = now + .seconds(seconds - min(32, seconds / 3))
    }
}
