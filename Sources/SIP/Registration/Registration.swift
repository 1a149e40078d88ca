// Registration of one line at a registrar, as client (RFC 3261 section 10.2): a REGISTER that is answered, refreshed before its expiry,
// and tried again with growing pauses when it fails (RFC 5626 section 4.5). It keeps Service-Route (RFC 3608) and asks for Path
// (RFC 3327) and for an outbound flow (RFC 5626). Pure: it finds no addresses, sends nothing, reads no clock.
//
//   state     event                        next      actions
//   idle      start                        waiting
//   waiting   its time, addressChanged     asking    register
//   kept      its time (refresh), lostFlow, addressChanged
//                                          asking    register
//   asking    401, 407 with an answer      asking    register        (at most 4 in a row)
//             423                          asking    register        with the registrar's Min-Expires
//             439                          asking    register        without a flow (RFC 5626 section 11.6)
//             2xx                          kept      registered      (a query: ended)
//             any other end                waiting   failed
//   any       the binding's end            same      expired
//   kept      stop                         leaving   register        with an expiry of 0
//   waiting   stop, still bound            leaving   register
//             stop                         ended     ended
//   asking    stop                         asking    then leaving when the answer is there and a binding too, else ended
//   leaving   401, 407 with an answer      leaving   register
//             any other end                ended     ended
// Anything else is absorbed and counted.

package import Basics

/// The registration of one line.
package struct Registration: Sendable {
    package enum State: UInt8, Sendable { case idle, waiting, asking, kept, leaving, ended }

    package private(set) var state = State.idle
    package private(set) var settings: RegistrationSettings
    /// Until when the registrar holds the binding; nil: it holds none.
    package private(set) var boundUntil: Instant?
    /// The routes that requests of this line start with (RFC 3608), as values of Route.
    package private(set) var serviceRoute: [[UInt8]] = []
    /// The URI by which anybody reaches this device, whatever its address (public GRUU, RFC 5627); nil: the registrar gave none.
    package private(set) var gruu: [UInt8]?
    /// One that tells nothing of who we are (temporary GRUU, section 3.1.2), for calls whose caller is private: the latest; the others of this
    /// registration still lead here. nil: the registrar gave none.
    package private(set) var temporaryGRUU: [UInt8]?
    /// The address that the registrar saw us at, when the answer said so.
    package private(set) var observed: SocketAddress?
    /// Seconds between two signs of life that the registrar asks for (Flow-Timer, RFC 5626 section 4.4); nil: it does not.
    package private(set) var flowTimer: Int?
    /// Failures since the latest success.
    package private(set) var failures = 0
    /// Events that did not belong to the state.
    package private(set) var unexpected = 0

    private var wake = Instant.never
    private var expires: Int
    private var wantsFlow: Bool
    private var wantsStop = false
    /// Answers within one attempt that led to another REGISTER at once.
    private var repeats = 0
    private var cSeq: UInt32 = 0
    private var digest: DigestClient
    private var tokens: TokenSource
    private let tag: [UInt8]
    /// The REGISTER that is out.
    private var sent: [UInt8] = []

    /// Another flow of this instance works: there is no hurry with this one.
    package var hasOtherFlow = false

    /// Pauses between attempts: the first, and the longest (RFC 5626 section 4.5); longer ones when another flow works, or when the registrar
    /// said no.
    static let transientPause = (first: Duration.seconds(30), longest: Duration.seconds(1800))
    static let otherFlowPause = (first: Duration.seconds(90), longest: Duration.seconds(1800))
    static let refusedPause = (first: Duration.seconds(300), longest: Duration.seconds(3600))
    /// What a Retry-After or a Min-Expires may ask for at most.
    static let longestDemand = 86_400
    private static let mostRepeats = 4

    package init(_ settings: RegistrationSettings, seed: UInt64) {
        self.settings = settings
        expires = settings.expires
        wantsFlow = !settings.instance.isEmpty
        tokens = TokenSource(seed: seed)
        tag = tokens.token()
        digest = DigestClient(credentials: settings.credentials, seed: seed ^ 0x2545_f491_4f6c_dd1d)
    }

    /// Whether the registrar holds a binding at this instant, as far as is known here.
    package func isBound(at now: Instant) -> Bool { boundUntil.map { $0 > now } ?? false }

    /// When `fire` is to be called next.
    package var nextDeadline: Instant {
        min(state == .waiting || state == .kept ? wake : .never, boundUntil ?? .never)
    }

    // MARK: Events

    /// Begins, after `delay`.
    package mutating func start(at now: Instant, after delay: Duration = .zero) {
        guard state == .idle else { return ignore() }
        state = .waiting
        wake = now + delay
    }

    /// Time has passed.
    package mutating func fire(at now: Instant, into actions: inout [RegistrationAction]) {
        if let until = boundUntil, until <= now {
            boundUntil = nil
            (gruu, temporaryGRUU) = (nil, nil)
            actions.append(.expired)
        }
        guard state == .waiting || state == .kept, wake <= now else { return }
        ask(into: &actions)
    }

    /// This end has another address on the way to the registrar: what is registered leads nowhere, and what failed may work now.
    package mutating func addressChanged(at now: Instant) {
        guard state == .kept || state == .waiting else { return }
        wake = min(wake, now + .milliseconds(tokens.number(in: 0...2000)))
    }

    /// The connection of the flow ended: the registrar knows a way that leads nowhere.
    package mutating func lostFlow(at now: Instant) {
        guard state == .kept else { return }
        // Many lines may lose one flow: not all in the same moment.
        wake = min(wake, now + .milliseconds(tokens.number(in: 0...2000)))
    }

    /// The answer to the REGISTER that is out.
    package mutating func received(_ response: Message, at now: Instant, into actions: inout [RegistrationAction]) {
        guard state == .asking || state == .leaving, response.cSeq == cSeq else { return ignore() }
        guard response.status >= 200 else { return }
        note(viaOf: response)
        switch response.status {
        case 401, 407: challenged(by: response, at: now, into: &actions)
        case 200..<300 where state == .leaving: end(into: &actions)
        case 200..<300: accepted(response, at: now, into: &actions)
        case 423 where state == .asking && raiseExpires(response): again(or: response, at: now, into: &actions)
        case 439 where state == .asking && wantsFlow:
            wantsFlow = false
            again(or: response, at: now, into: &actions)
        default: fail(.refused(status: response.status, reason: response.reasonPhrase), response, at: now, into: &actions)
        }
    }

    /// The REGISTER that is out has no answer, or could not be sent.
    package mutating func failed(_ failure: RegistrationFailure, at now: Instant, into actions: inout [RegistrationAction]) {
        guard state == .asking || state == .leaving else { return ignore() }
        fail(failure, nil, at: now, into: &actions)
    }

    /// The line ends: the registrar is told, when it holds a binding.
    package mutating func stop(at now: Instant, into actions: inout [RegistrationAction]) {
        guard !wantsStop, state != .ended else { return }
        wantsStop = true
        if state != .asking { leave(at: now, into: &actions) }
    }

    // MARK: The request

    /// The REGISTER that `register` asked for.
    /// - Parameter end: this end as the registrar reaches it; its `contact` is what is registered.
    package mutating func request(end: LocalEnd, branch: [UInt8]) -> OutgoingRequest {
        precondition(state == .asking || state == .leaving, "nobody asked for a REGISTER")
        cSeq += 1
        let name = [Octet.less] + settings.addressOfRecord + [Octet.greater]
        var writer = MessageWriter(capacity: 800)
        writer.request(
            .register, uri: settings.registrar, end: end, branch: branch, routes: settings.routes,
            from: name + Array(";tag=".utf8) + tag, to: name,
            callID: settings.callID, cSeq: cSeq)
        if !settings.isQuery { writeContact(end, into: &writer) }
        writer.append(digest.headers(method: "REGISTER", uri: settings.registrar))
        writer.finish()
        sent = writer.octets
        return OutgoingRequest(octets: sent, method: .register, branch: branch, nextHop: settings.registrar)
    }

    private func writeContact(_ end: LocalEnd, into writer: inout MessageWriter) {
        let seconds = state == .leaving ? 0 : expires
        writer.append("Contact: ")
        writer.append(end.contact)
        writer.append(";expires=")
        writer.append(seconds)
        if wantsFlow {
            writer.append(";reg-id=")
            writer.append(settings.flow)
        }
        if !settings.instance.isEmpty {
            writer.append(";+sip.instance=\"<")
            writer.append(safe: settings.instance)
            writer.append(">\"")
        }
        writer.endLine()
        for other in settings.replaces where other != end.contact && state == .asking {
            writer.append("Contact: ")
            writer.append(safe: String(decoding: other, as: UTF8.self))
            writer.append(";expires=0\r\n")
        }
        writer.header("Expires", seconds)
        writer.append(wantsFlow ? "Supported: path, outbound" : "Supported: path")
        writer.append(settings.instance.isEmpty ? "\r\n" : ", gruu\r\n")
    }

    // MARK: What answers mean

    private mutating func ask(into actions: inout [RegistrationAction]) {
        state = .asking
        repeats = 0
        actions.append(.register)
    }

    private mutating func challenged(
        by response: Message, at now: Instant, into actions: inout [RegistrationAction]
    ) {
        guard repeats < Self.mostRepeats, let request = try? Message(parsing: sent),
            digest.challenged(by: response, request: request) == .retry
        else { return fail(.credentials, response, at: now, into: &actions) }
        repeats += 1
        actions.append(.register)
    }

    private mutating func again(or response: Message, at now: Instant, into actions: inout [RegistrationAction]) {
        if wantsStop { return leave(at: now, into: &actions) }
        guard repeats < Self.mostRepeats else {
            return fail(.refused(status: response.status, reason: response.reasonPhrase), response, at: now, into: &actions)
        }
        repeats += 1
        actions.append(.register)
    }

    /// 423: what the registrar takes at least, when that is more than was asked for and not absurd.
    private mutating func raiseExpires(_ response: Message) -> Bool {
        guard let least = response.number(.minExpires), least > expires, least <= Self.longestDemand else { return false }
        expires = least
        return true
    }

    private mutating func accepted(_ response: Message, at now: Instant, into actions: inout [RegistrationAction]) {
        if settings.isQuery {
            actions.append(.registered(seconds: 0, isNew: true))
            state = .ended
            return
        }
        let seconds = min(granted(by: response), 7 * Self.longestDemand)
        guard seconds > 0 else { return fail(.notBound, response, at: now, into: &actions) }
        let isNew = boundUntil == nil || failures > 0
        failures = 0
        sent = []
        settings.replaces = []
        boundUntil = now + .seconds(seconds)
        gruu = gruu("pub-gruu", in: response)
        temporaryGRUU = gruu("temp-gruu", in: response)
        serviceRoute = response.values(named: "Service-Route").map { Array(response[$0]) }
        flowTimer = response.header("Flow-Timer").flatMap { Int($0) }.flatMap { (10...3600).contains($0) ? $0 : nil }
        state = .kept
        // At three quarters to nine tenths of the time, so that lines that began together do not refresh together.
        wake = now + .milliseconds(max(seconds * tokens.number(in: 750...900), 1000))
        actions.append(.registered(seconds: seconds, isNew: isNew))
        if wantsStop { leave(at: now, into: &actions) }
    }

    /// The seconds of our binding in a 2xx (section 10.2.4): the parameter of our Contact, else Expires, else what was asked for.
    private func granted(by response: Message) -> Int {
        let contacts = (try? response.contacts()) ?? []
        let request = try? Message(parsing: sent)
        let mine = contacts.first { contact in
            if isOfThisDevice(contact) { return true }
            guard contact.parameters["+sip.instance"] == nil || settings.instance.isEmpty, let uri = try? contact.uri(),
                let ours = try? request?.firstContact()?.uri()
            else { return false }
            return uri.isEquivalent(to: ours)
        }
        // A registrar that mends addresses behind NAT lists another URI than ours.
        let listed = mine ?? (contacts.count == 1 ? contacts.first : nil)
        return listed?.parameters.number("expires") ?? response.number(.expires) ?? expires
    }

    private func isOfThisDevice(_ contact: NameAddress) -> Bool {
        guard !settings.instance.isEmpty, let instance = contact.parameters["+sip.instance"] else { return false }
        // Another flow of this device has another expiry.
        if let flow = contact.parameters.number("reg-id"), flow != settings.flow { return false }
        return text(instance) == "<\(settings.instance)>"
    }

    /// A parameter of our contact; one that is no SIP URI is none.
    private func gruu(_ name: StaticString, in response: Message) -> [UInt8]? {
        guard let contact = (try? response.contacts())?.first(where: isOfThisDevice), let value = contact.parameters[name],
            (try? URI(Array(value), OctetRange(0, value.count)))?.isSIP == true
        else { return nil }
        return Array(value)
    }

    private mutating func fail(
        _ failure: RegistrationFailure, _ response: Message?, at now: Instant, into actions: inout [RegistrationAction]
    ) {
        sent = []
        if failure == .notBound { boundUntil = nil }
        if state == .leaving { return end(into: &actions) }
        // A registrar that refuses to hold the binding longer may still have it; one that says nothing would not hear of its end either.
        if wantsStop { return response == nil ? end(into: &actions) : leave(at: now, into: &actions) }
        let pause = !failure.isTransient ? Self.refusedPause : hasOtherFlow ? Self.otherFlowPause : Self.transientPause
        let upper = min(pause.longest, pause.first * (1 << min(failures, 10)))
        var wait = Duration.nanoseconds(upper.nanoseconds / 1000 * Int64(tokens.number(in: 500...1000)))
        if let demanded = response?.number(.retryAfter), demanded <= Self.longestDemand {
            // Everyone was told the same: a tenth more, by chance.
            wait = max(wait, .milliseconds(demanded * tokens.number(in: 1000...1100)))
        }
        failures += 1
        state = .waiting
        wake = now + wait
        actions.append(.failed(failure, retryAfter: wait))
    }

    private mutating func leave(at now: Instant, into actions: inout [RegistrationAction]) {
        guard isBound(at: now) else { return end(into: &actions) }
        state = .leaving
        repeats = 0
        actions.append(.register)
    }

    private mutating func end(into actions: inout [RegistrationAction]) {
        state = .ended
        boundUntil = nil
        sent = []
        actions.append(.ended)
    }

    private mutating func ignore() { unexpected += 1 }

    /// What the top Via says about where we were seen (RFC 3581).
    private mutating func note(viaOf response: Message) {
        guard let via = try? response.topVia() else { return }
        let ip = via.received ?? IPAddress(via.host)
        guard let ip, let port = via.rport ?? via.port else { return }
        observed = SocketAddress(ip: ip, port: port)
    }
}
