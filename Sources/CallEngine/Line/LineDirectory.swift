// What is known of the registered lines and watched trunks at this moment, for every thread: calls go out by the way of the registration, calls that come in
// belong to the line whose contact they name, pages and logs tell the state. The lines themselves write it (RegisteredLine).

package import Basics
import Reactor
import SIP

/// The state of one line that registers or is watched.
package struct LineStatus: Equatable, Sendable {
    package enum State: String, Sendable, CaseIterable {
        /// It has not been answered yet.
        case starting
        case registered
        /// The registrar refuses, or does not answer; it is tried again.
        case failed
        case ended
        /// A watched trunk that answers, or does not.
        case available
        case unavailable
    }

    package var name: String
    package var state = State.starting
    /// Why it failed; empty otherwise.
    package var detail = ""
    /// Registrations and refreshes that worked, and those that did not.
    package var successes: UInt64 = 0
    package var failures: UInt64 = 0

    package init(name: String) { self.name = name }
}

/// A change that people want to read of.
package enum LineEvent: Equatable, Sendable {
    case registered(line: String, at: SocketAddress, seconds: Int)
    case failed(line: String, why: String, retryAfter: Duration)
    /// The binding ran out: no call comes by this line any more.
    case expired(line: String)
    case ended(line: String)
    /// A watched trunk answers (again), or does not any more.
    case available(line: String, at: SocketAddress)
    case unavailable(line: String, why: String)

    /// The line's name.
    package var line: String {
        switch self {
        case .registered(let line, _, _), .failed(let line, _, _), .expired(let line), .ended(let line), .available(let line, _),
            .unavailable(let line, _):
            line
        }
    }
}

/// How calls go out by a registration: a line's, or a device's that registered here.
struct CallWay: Sendable {
    /// Where the registration went to, or came from: calls use the same socket and connection.
    var hop: Hop
    /// The value of Contact that a line has registered.
    var contact: [UInt8]?
    /// The contact is a GRUU (RFC 5627): it leads here from everywhere, not only from the registrar.
    var isGlobal = false
    /// The same for calls whose caller is private; nil: there is no other.
    var privateContact: [UInt8]?
    /// Values of Route: Service-Route (RFC 3608), or Path (RFC 3327).
    var routes: [[UInt8]]
    /// The value of Contact that the registrar has of a line.
    var registered: [UInt8] = []
    /// Which of the line's flows it is (RFC 5626), from 1.
    var flow = 1

    /// The value of Contact for the answer to a request: the GRUU (RFC 5627 section 4.4), for who has called a temporary one (`gr` without a
    /// value) such a one as well. nil: there is none, and the address will do.
    func contact(answering request: Message) -> [UInt8]? {
        guard isGlobal else { return nil }
        let isPrivate = (try? request.to().uri().parameter("gr")) == ""
        return isPrivate ? privateContact : contact
    }
}

/// What an outgoing call has besides its target: a registration that it goes by, or servers that are left to try.
final class CallRoute {
    private(set) var way: CallWay?
    /// Flows of the line that the call has been tried by: a bit for each.
    private var triedFlows: UInt32 = 0
    /// The target's servers that are tried when this one does not answer, cannot be reached or answers 503 (RFC 3263 section 4.3).
    var alternatives: [Hop]

    init(way: CallWay? = nil, alternatives: [Hop] = []) {
        self.way = way
        self.alternatives = alternatives
    }

    /// Goes on by the line's next flow that works (RFC 5626 section 4.3); nil when there is none that was not tried.
    func nextFlow(of line: String, in lines: LineDirectory) -> CallWay? {
        guard let way else { return nil }
        triedFlows |= 1 << UInt32(way.flow)
        guard let next = lines.way(of: line, without: triedFlows) else { return nil }
        self.way = next
        return next
    }

    /// The caller is private: so is the contact, where there is one for that.
    func hideCaller() {
        if let hidden = way?.privateContact { way?.contact = hidden }
    }
}

/// All registered lines. From any thread.
package final class LineDirectory: Sendable {
    private struct Entry {
        var status: LineStatus
        /// By the flows that are registered, the first one first.
        var ways: [CallWay] = []
        var endedFlows = 0
        let settings: LineSettings

        var flowCount: Int { max(settings.registration?.edges.count ?? 1, 1) }

        mutating func set(_ way: CallWay) {
            remove(flow: way.flow)
            ways.insert(way, at: ways.firstIndex { $0.flow > way.flow } ?? ways.count)
        }

        mutating func remove(flow: Int) { ways.removeAll { $0.flow == flow } }
        /// Among all lines of the engine.
        let index: Int
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// Lines by the mark in their contact, and by the address of their registrar.
        var byMark: [String: String] = [:]
        var byRegistrar: [IPAddress: [String]] = [:]
    }

    private let state = Locked(State())
    /// Whether there is any line in it: set once, before the first message.
    let isEmpty: Bool
    private let onEvent: @Sendable (LineEvent) -> Void

    /// The parameter of a contact's URI that says which line it is of.
    static let markName = "line"

    init(_ lines: [(index: Int, line: LineSettings, mark: String)], onEvent: @escaping @Sendable (LineEvent) -> Void) {
        self.onEvent = onEvent
        isEmpty = lines.isEmpty
        state.withLock { state in
            for (index, line, mark) in lines where line.registration != nil || line.monitor != nil {
                state.entries[line.name] = Entry(status: LineStatus(name: line.name), settings: line, index: index)
                state.byMark[mark] = line.name
            }
        }
    }

    /// All lines by name.
    package var statuses: [LineStatus] {
        state.withLock { $0.entries.values.map(\.status) }.sorted { $0.name < $1.name }
    }

    /// Whether no line is registered or about to be.
    package var areAllEnded: Bool {
        state.withLock { $0.entries.values.allSatisfy { $0.settings.registration == nil || $0.status.state == .ended } }
    }

    /// The value of Contact that the registrar has of this line; nil while it is not registered.
    package func contact(of name: String) -> String? { way(of: name).map { String(decoding: $0.registered, as: UTF8.self) } }

    /// How a call goes out by this line; nil while it is not registered.
    func way(of name: String) -> CallWay? { isEmpty ? nil : state.withLock { $0.entries[name]?.ways.first } }

    /// The same by a flow whose bit is not set.
    func way(of name: String, without flows: UInt32) -> CallWay? {
        state.withLock { $0.entries[name]?.ways.first { flows & 1 << UInt32($0.flow) == 0 } }
    }

    /// Whether another flow of the line is registered.
    func hasFlow(of name: String, besides flow: Int) -> Bool {
        state.withLock { $0.entries[name]?.ways.contains { $0.flow != flow } ?? false }
    }

    /// The number of the line that a call is for: the one whose contact it names, else one whose registrar it comes from (that of this user first).
    func line(of invite: Message, from hop: Hop) -> Int? {
        guard !isEmpty, let uri = try? invite.requestURI() else { return nil }
        let mark = uri.parameter(Self.markName)
        return state.withLock { state in
            if let mark, let name = state.byMark[mark] { return state.entries[name]?.index }
            guard let names = state.byRegistrar[hop.address.ip] else { return nil }
            if names.count == 1 { return state.entries[names[0]]?.index }
            let users = [uri.user, (try? invite.to().uri().user) ?? ""]
            let entries = names.compactMap { state.entries[$0] }
            return users.lazy.compactMap { user in entries.first { $0.settings.registeredUser == user }?.index }.first
        }
    }

    // MARK: Written by the lines

    func registered(_ name: String, way: CallWay, seconds: Int, isNew: Bool) {
        state.withLock { state in
            state.entries[name]?.status.successes += 1
            state.entries[name]?.status.state = .registered
            state.entries[name]?.status.detail = ""
            forget(flow: way.flow, of: name, in: &state)
            state.entries[name]?.set(way)
            let ip = way.hop.address.ip
            if state.byRegistrar[ip]?.contains(name) != true { state.byRegistrar[ip, default: []].append(name) }
        }
        if isNew { onEvent(.registered(line: name, at: way.hop.address, seconds: seconds)) }
    }

    /// - Parameter edge: which of several edge proxies it was; empty for a line with one.
    func failed(_ name: String, _ failure: RegistrationFailure, edge: String, retryAfter: Duration) {
        let why = edge.isEmpty ? "\(failure)" : "\(edge): \(failure)"
        state.withLock { state in
            guard var entry = state.entries[name] else { return }
            entry.status.failures += 1
            // A line is as good as the best of its flows.
            if entry.flowCount == 1 || entry.ways.isEmpty { entry.status.state = .failed }
            entry.status.detail = why
            state.entries[name] = entry
        }
        onEvent(.failed(line: name, why: why, retryAfter: retryAfter))
    }

    /// The connection of one of several flows has ended: calls go by the others until it is registered again.
    func lost(_ name: String, flow: Int) {
        state.withLock { state in
            guard let entry = state.entries[name], entry.flowCount > 1 else { return }
            forget(flow: flow, of: name, in: &state)
        }
    }

    func expired(_ name: String, flow: Int) {
        let isOut = state.withLock { state in
            forget(flow: flow, of: name, in: &state)
            return state.entries[name]?.ways.isEmpty ?? true
        }
        if isOut { onEvent(.expired(line: name)) }
    }

    func ended(_ name: String, flow: Int) {
        let isOut = state.withLock { state in
            forget(flow: flow, of: name, in: &state)
            guard var entry = state.entries[name] else { return true }
            entry.endedFlows += 1
            if entry.endedFlows >= entry.flowCount {
                entry.status.state = .ended
                entry.endedFlows = 0
            }
            state.entries[name] = entry
            return entry.status.state == .ended
        }
        if isOut { onEvent(.ended(line: name)) }
    }

    func available(_ name: String, at address: SocketAddress) {
        if changeTrunk(name, to: .available, "") { onEvent(.available(line: name, at: address)) }
    }

    func unavailable(_ name: String, _ why: String) {
        if changeTrunk(name, to: .unavailable, why) { onEvent(.unavailable(line: name, why: why)) }
    }

    /// A line that registers as well tells its registration's state; whether the state is another one now.
    private func changeTrunk(_ name: String, to new: LineStatus.State, _ detail: String) -> Bool {
        state.withLock { state in
            guard var status = state.entries[name]?.status, state.entries[name]?.settings.registration == nil else {
                return false
            }
            if new == .available { status.successes += 1 } else { status.failures += 1 }
            let isNew = status.state != new
            status.state = new
            status.detail = detail
            state.entries[name]?.status = status
            return isNew
        }
    }

    private func forget(flow: Int, of name: String, in state: inout State) {
        guard let ip = state.entries[name]?.ways.first(where: { $0.flow == flow })?.hop.address.ip else { return }
        state.entries[name]?.remove(flow: flow)
        guard state.entries[name]?.ways.contains(where: { $0.hop.address.ip == ip }) != true else { return }
        state.byRegistrar[ip]?.removeAll { $0 == name }
        if state.byRegistrar[ip]?.isEmpty == true { state.byRegistrar[ip] = nil }
    }
}
