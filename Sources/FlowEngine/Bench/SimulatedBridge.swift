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
            let winner = attempts.filter { $0.behaviour.outcome == .answered && $0.behaviour.delay <= request.timeout }
                .min { $0.behaviour.delay < $1.behaviour.delay }
            if let winner { return try await attempt(winner.target, winner.behaviour, request) }
            guard let slowest = attempts.max(by: { $0.behaviour.delay < $1.behaviour.delay }) else { return last }
            return try await attempt(slowest.target, slowest.behaviour, request)
        }
        for target in targets {
            onAction?("INVITE \(target)")
            last = try await attempt(target, behaviour(target), request)
            if last.outcome == .answered { break }
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
        // A caller who was not answered yet is answered with the target.
        if info.direction == .inbound, state != .answered { accept() }
        onAction?("connected with \(target)")
        let began = loop.now
        let recording = request.onConnected?()
        defer { recording?.stop() }
        try await loop.sleep(for: behaviour.talks)
        onAction?("\(target) hangs up")
        return BridgeResult(outcome: .answered, target: target, status: 200, connected: loop.now - began)
    }
}
