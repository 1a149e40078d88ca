// MESSAGE outside of calls (RFC 3428): to a target as a bridge knows them, with the line's credentials, to the next server where one gives no
// answer, to all devices of a registered user, on to where a redirection says. It has no dialog and no Contact.

import Basics
import Reactor
import SIP

extension CallShard {
    /// Sends a text, and comes back when it is answered, or after its time. Who gave it up may leave: it goes on by itself. Throws for a target
    /// that cannot be sent to and for a text that is too long.
    package func send(_ text: TextRequest, to target: String) async throws -> TextResult {
        guard !isClosed else { throw CallControlError.invalid(operation: "send-message", why: "the engine has ended") }
        let targets = try targets(of: text, target)
        guard !targets.isEmpty else {
            return TextResult(.unreachable, reason: "no device of \(target.dropFirst(5)) is registered")
        }
        let deadline = loop.now + text.timeout
        let turn = textTurns[target] ?? TextTurn()
        textTurns[target] = turn
        defer { forget(turn, of: target) }
        guard try await turn.take(on: loop, until: deadline) else { return .stillWaiting }
        let answer = Waiter<Result<TextResult, CallControlError>>()
        var results: [Result<TextResult, CallControlError>] = []
        for request in targets {
            OutgoingText(text, to: request, deadline: deadline, shard: self) { result in
                results.append(result)
                if case .success(let known) = result, known.outcome == .delivered || known.outcome == .accepted {
                    answer.resume(returning: result)
                }
                guard results.count == targets.count else { return }
                turn.leave()
                self.forget(turn, of: target)
                answer.resume(returning: Self.best(of: results))
            }.start()
        }
        let timer = loop.schedule(at: deadline) { answer.resume(returning: .success(.tooLate)) }
        defer { timer.cancel() }
        return try await answer.wait().get()
    }

    private func forget(_ turn: TextTurn, of target: String) {
        if turn.isIdle { textTurns[target] = nil }
    }

    private func targets(of text: TextRequest, _ target: String) throws(CallControlError) -> [OutgoingTarget] {
        if target.hasPrefix("user:") {
            var targets: [OutgoingTarget] = []
            for device in devices(of: String(target.dropFirst(5))) {
                targets.append(try OutgoingTarget(device, of: target, settings: settings))
            }
            return targets
        }
        let (line, number) = CallRequest.line(of: target) ?? (nil, target)
        return [try OutgoingTarget(number, line: line, settings: settings)]
    }

    private static func best(
        of results: [Result<TextResult, CallControlError>]
    ) -> Result<TextResult, CallControlError> {
        let known = results.compactMap { try? $0.get() }
        guard let first = known.first else { return results[0] }
        return .success(known.dropFirst().reduce(first, TextResult.better))
    }
}

extension TextResult {
    /// The text before it has no answer yet, and this one was not sent.
    static let stillWaiting = TextResult(.noAnswer, reason: "the text before it is not answered yet")
    static let tooLate = TextResult(.noAnswer, reason: "no answer in time")

    /// What a final answer says of its text.
    init(answeredBy response: Message) {
        let outcome: Outcome =
            switch response.status {
            case 202: .accepted
            case 200..<300: .delivered
            case 408: .noAnswer
            case 503: .unreachable
            default: .refused
            }
        self.init(outcome, status: response.status, reason: response.reasonPhrase)
    }
}

/// A receiver of texts, who gets the next when the one before is answered (RFC 3428 section 8).
final class TextTurn {
    private var isTaken = false
    private var waiting: [Waiter<Bool>] = []

    var isIdle: Bool { !isTaken && waiting.isEmpty }

    /// Waits until it is free, and takes it; false when it was not free in time.
    func take(on loop: EventLoop, until deadline: Instant) async throws(CancellationError) -> Bool {
        while isTaken {
            let free = Waiter<Bool>()
            waiting.append(free)
            let timer = loop.schedule(at: deadline) { free.resume(returning: false) }
            defer {
                timer.cancel()
                waiting.removeAll { $0 === free }
            }
            guard try await free.wait() else { return false }
        }
        isTaken = true
        return true
    }

    func leave() {
        isTaken = false
        for free in waiting { free.resume(returning: true) }
    }
}

/// One MESSAGE, until its answer: sent again with credentials, and to other servers while its time is not over.
private final class OutgoingText {
    private let text: TextRequest
    private let body: [UInt8]
    private var target: OutgoingTarget
    private let deadline: Instant
    private unowned let shard: CallShard
    private let caller: CallerIdentity
    private let callID: [UInt8]
    private let tag: [UInt8]
    private var cSeq: UInt32 = 0
    private var challenges = 0
    private var routes: [[UInt8]] = []
    private var alternatives: [Hop] = []
    /// Where it was redirected to; nil while it was not.
    private var redirections: Redirections?
    private let done: (Result<TextResult, CallControlError>) -> Void

    init(
        _ text: TextRequest, to target: OutgoingTarget, deadline: Instant, shard: CallShard,
        done: @escaping (Result<TextResult, CallControlError>) -> Void
    ) {
        self.text = text
        self.target = target
        self.deadline = deadline
        self.shard = shard
        self.done = done
        body = Array(text.text.utf8)
        let line = target.line.map { shard.settings.lines[$0] }
        caller = CallerIdentity(CallRequest(target: target.text, line: line?.name, from: text.from), line: line)
        (callID, tag) = (shard.newCallID(), shard.endpoint.newToken())
    }

    private var line: LineSettings? { target.line.map { shard.settings.lines[$0] } }
    /// Whose user name and password prove who this end is, to whom it goes now.
    private var accountLine: LineSettings? { target.leavesLine ? nil : line }

    func start() {
        (routes, alternatives) = ([], [])
        if let way = target.device ?? (target.leavesLine ? nil : line).flatMap({ shard.lines.way(of: $0.name) }) {
            routes = way.routes
            return send(to: way.hop)
        }
        if let hop = target.hop { return send(to: hop) }
        shard.resolver.resolve(target.server) { [self] hops in
            guard let first = hops.first else {
                return end(TextResult(.unreachable, reason: "\(target.server.host) was not found"))
            }
            alternatives = Array(hops.dropFirst())
            send(to: first)
        }
    }

    private func send(to hop: Hop) {
        var hop = hop
        if target.device == nil {
            hop.host = shard.endpoint.hostNumber(target.server.host, path: target.path, over: hop.transport)
        }
        shard.endpoint.whenAddressIsKnown(to: hop) { [self] in write(to: hop) }
    }

    private func write(to hop: Hop) {
        let local = shard.endpoint.localAddress(to: hop)
        let end = shard.localEnd(hop.transport, local, secure: target.uri.scheme == .sips)
        let branch = shard.endpoint.newBranch()
        cSeq += 1
        var writer = MessageWriter(capacity: TextRequest.limit)
        writer.request(
            .message, uri: target.requestURI, end: end, branch: branch, routes: routes,
            from: shard.fromValue(caller.from, caller.displayName, local, tag: tag), to: target.to, callID: callID, cSeq: cSeq)
        writer.append(shard.credentials(for: accountLine, method: "MESSAGE", uri: target.requestURI, body: body))
        writer.append(target.leavesLine ? CallerIdentity.forStrangers(caller.rows) : caller.rows)
        writer.finish(body: body, type: text.type)
        let octets = writer.octets
        guard octets.count <= TextRequest.limit else { return done(.failure(.textIsTooLong(octets.count))) }
        shard.endpoint.send(octets, method: .message, branch: branch, to: hop) { [self] event in
            switch event {
            case .response(let response, _): answered(response, octets, hop)
            case .timedOut: failed(hop, .tooLate)
            case .transportFailed(let why):
                failed(hop, TextResult(.unreachable, reason: why.isEmpty ? "it could not be sent" : why))
            }
        }
    }

    private func answered(_ response: Message, _ octets: [UInt8], _ hop: Hop) {
        guard response.status >= 200 else { return }
        if response.status == 503 {
            return failed(hop, TextResult(answeredBy: response), retryAfter: response.number(.retryAfter))
        }
        shard.health.worked(hop)
        if response.status == 401 || response.status == 407, challenges < OutgoingRequest.challengeLimit,
            let refused = try? Message(parsing: octets), shard.challenged(accountLine, by: response, request: refused)
        {
            challenges += 1
            return send(to: hop)
        }
        if Redirections.isFollowed(response.status) {
            let limit = line?.redirects ?? shard.settings.redirects.limit
            if redirections == nil { redirections = Redirections(from: target.uri, limit: limit) }
            redirections?.take(response)
        }
        end(TextResult(answeredBy: response))
    }

    /// Goes on to the next server (RFC 3263 section 4.3), while somebody waits.
    private func failed(_ hop: Hop, _ result: TextResult, retryAfter: Int? = nil) {
        shard.health.failed(hop, at: shard.loop.now, retryAfter: retryAfter)
        guard !alternatives.isEmpty, shard.loop.now < deadline else { return end(result) }
        send(to: alternatives.removeFirst())
    }

    /// Goes on to the next contact of a redirection (RFC 3261 section 8.1.3.4) that may be sent to, while somebody waits and nobody who
    /// speaks for all has refused it; where there is none, the result is known.
    private func end(_ result: TextResult) {
        let isOver = result.outcome == .delivered || result.outcome == .accepted || result.status >= 600
        while !isOver, shard.loop.now < deadline, let uri = redirections?.next() {
            guard shard.settings.redirects.allows(uri.description),
                let next = try? OutgoingTarget(redirect: uri, of: target, settings: shard.settings)
            else { continue }
            target = next
            challenges = 0
            return start()
        }
        done(.success(result))
    }
}

extension CallControlError {
    static func textIsTooLong(_ octets: Int, _ operation: String = "send-message") -> CallControlError {
        let request = operation == "send-info" ? "INFO" : "MESSAGE"
        return .invalid(
            operation: operation,
            why: "the \(request) would have \(octets) octets; \(TextRequest.limit) are allowed with its header")
    }
}
