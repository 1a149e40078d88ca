// Bridging in the test bench: targets behave as the case says.

import Basics
package import CallEngine
import Reactor

extension SimulatedCall {
    package func bridge(_ request: BridgeRequest) async throws(CancellationError) -> BridgeResult {
        var targets = request.targets
        if request.order == .rotate, !targets.isEmpty {
            targets = Array(targets[(rotation % targets.count)...] + targets[..<(rotation % targets.count)])
            rotation += 1
        }
        var last = BridgeResult(outcome: .unreachable, target: targets.last ?? "")
        if request.order == .all {
            // Those who answer win, the quickest of them; otherwise the last refusal counts.
            let attempts = targets.map { (target: $0, behaviour: behaviour($0)) }
            for attempt in attempts { onAction?("INVITE \(attempt.target)") }
            let answering = attempts.filter { $0.behaviour.outcome == .answered && $0.behaviour.delay <= request.timeout }
                .sorted { $0.behaviour.delay < $1.behaviour.delay }
            for one in answering {
                last = try await attempt(one.target, one.behaviour, request)
                if last.outcome == .answered || last.outcome == .cancelled { return last }
            }
            if !answering.isEmpty { return last }
            guard let slowest = attempts.max(by: { $0.behaviour.delay < $1.behaviour.delay }) else { return last }
            return try await attempt(slowest.target, slowest.behaviour, request)
        }
        for target in targets {
            onAction?("INVITE \(target)")
            last = try await attempt(target, behaviour(target), request)
            if last.outcome == .answered || last.outcome == .cancelled { break }
        }
        return last
    }

    private func attempt(
        _ target: String, _ behaviour: BridgeBehaviour, _ request: BridgeRequest
    ) async throws(CancellationError) -> BridgeResult {
        guard behaviour.delay <= request.timeout else {
            try await loop.sleep(for: request.timeout)
            return BridgeResult(outcome: .noAnswer, target: target, status: 408)
        }
        try await loop.sleep(for: behaviour.delay)
        let status: Int =
            switch behaviour.outcome {
            case .answered: 200
            case .busy: 486
            case .noAnswer: 480
            case .rejected: 603
            case .unreachable: 503
            case .cancelled: 487
            }
        guard behaviour.outcome == .answered else {
            return BridgeResult(outcome: behaviour.outcome, target: target, status: status)
        }
        guard let leg = leg(target, behaviour) else { return BridgeResult(outcome: .unreachable, target: target) }
        defer { leg.hangUp(.normal) }
        if let prepare = request.prepare {
            let verdict = try await prepared(leg, prepare)
            guard verdict == .goOn else {
                let outcome: BridgeResult.Outcome =
                    switch verdict {
                    case .leave: .cancelled
                    case .noAnswer: .noAnswer
                    case .goOn, .rejected: .rejected
                    }
                return BridgeResult(outcome: outcome, target: target, status: 200)
            }
        }
        // A caller who was not answered yet is answered with the target.
        if info.direction == .inbound, state != .answered { accept() }
        onAction?("connected with \(target)")
        let began = loop.now
        let recording = request.onConnected?()
        defer { recording?.stop() }
        let talk = SimulatedTalk(self, leg, request)
        let isLimited = try await talk.run(for: behaviour.talks)
        onAction?(isLimited ? "the limit is over" : "\(target) hangs up")
        var result = BridgeResult(outcome: .answered, target: target, status: 200, connected: loop.now - began)
        result.isLimited = isLimited
        return result
    }

    /// Runs what a target is told and asked before it is connected; it may hang up meanwhile.
    private func prepared(_ leg: SimulatedCall, _ body: @escaping BridgeAside) async throws(CancellationError) -> BridgeVerdict {
        let over = Waiter<BridgeVerdict>()
        let task = loop.spawn { if let verdict = try? await body(leg) { over.resume(returning: verdict) } }
        leg.onEnd = { _ in over.resume(returning: .rejected) }
        defer { leg.onEnd = nil }
        do {
            let verdict = try await over.wait()
            task.cancel()
            await task.finished()
            return verdict
        } catch {
            task.cancel()
            await task.finished()
            throw error
        }
    }
}

/// Two calls that are connected: keys, limit, and the end.
private final class SimulatedTalk {
    private enum Event {
        case over(isLimited: Bool)
        case pressed(Int, SimulatedCall)
        case asideEnded(SimulatedCall, BridgeVerdict)
    }

    private let calls: [(call: SimulatedCall, side: BridgeKeys.Side)]
    private let request: BridgeRequest
    private let events: Mailbox<Event>
    private let loop: EventLoop
    private var timers: [LoopTimer] = []
    private var aside: (call: SimulatedCall, task: LoopTask)?

    init(_ caller: SimulatedCall, _ leg: SimulatedCall, _ request: BridgeRequest) {
        calls = [(caller, .caller), (leg, .callee)]
        self.request = request
        loop = caller.loop
        events = Mailbox(loop: loop)
        leg.onEnd = { [events] _ in events.send(.over(isLimited: false)) }
    }

    /// Whether the limit ended it; left for another section it ends as if the target had hung up.
    func run(for length: Duration) async throws(CancellationError) -> Bool {
        timers = [loop.schedule(after: length) { [events] in events.send(.over(isLimited: false)) }]
        if let limit = request.limit {
            timers.append(loop.schedule(after: limit) { [events] in events.send(.over(isLimited: true)) })
            if let warning = request.warning, warning.before < limit {
                timers.append(loop.schedule(after: limit - warning.before) { [unowned self] in warn(warning.sounds) })
            }
        }
        for (call, side) in calls { follow(call, side) }
        do {
            let isLimited = try await untilOver()
            await close()
            return isLimited
        } catch {
            await close()
            throw error
        }
    }

    private func untilOver() async throws(CancellationError) -> Bool {
        while true {
            switch try await events.next() {
            case nil: continue
            case .over(let isLimited): return isLimited
            case .pressed(let index, let call):
                guard aside == nil, let onKeys = request.onKeys, !call.state.isEnded else { continue }
                call.digits.stopReading()
                let task = loop.spawn { [events] in
                    if let verdict = try? await onKeys(index, call) { events.send(.asideEnded(call, verdict)) }
                }
                aside = (call, task)
            case .asideEnded(let call, let verdict):
                if verdict == .leave { return false }
                aside = nil
                if let side = calls.first(where: { $0.call === call })?.side { follow(call, side) }
            }
        }
    }

    private func warn(_ sounds: [AudioSource]) {
        for (call, _) in calls where call !== aside?.call { _ = call.play(PlaybackRequest(sounds)) }
    }

    private func follow(_ call: SimulatedCall, _ side: BridgeKeys.Side) {
        let wanted = request.keys.enumerated().filter { $0.element.by == side || $0.element.by == .both }
        guard !wanted.isEmpty else { return }
        var sequences = KeySequences(wanted.map { ($0.offset, $0.element.digits) })
        _ = call.digits.read { [events] event in
            guard event.phase == .began, let index = sequences.press(event.digit, at: event.at) else { return }
            events.send(.pressed(index, call))
        }
    }

    private func close() async {
        for timer in timers { timer.cancel() }
        calls[1].call.onEnd = nil
        aside?.task.cancel()
        await aside?.task.finished()
        for (call, _) in calls { call.digits.stopReading() }
    }
}
