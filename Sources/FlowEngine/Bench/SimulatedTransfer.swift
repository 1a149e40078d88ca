// Transfers in the test bench: the target behaves as the case says under `bridges`.

import Basics
package import CallEngine
import Reactor

extension SimulatedCall {
    package func transfer(_ request: TransferRequest) async throws -> TransferResult {
        guard state == .answered else {
            throw CallControlError.wrongState(operation: "transfer", why: "the call is not answered")
        }
        onAction?("REFER to \(request.target)\(request.isAttended ? ", attended" : "")")
        let target = behaviour(request.target)
        guard target.delay <= request.timeout else {
            try await loop.sleep(for: request.timeout)
            return TransferResult(outcome: .noAnswer, status: 408)
        }
        try await loop.sleep(for: target.delay)
        return switch target.outcome {
        case .answered: TransferResult(outcome: .transferred, status: 200)
        case .busy: TransferResult(outcome: .busy, status: 486)
        case .noAnswer, .cancelled: TransferResult(outcome: .noAnswer, status: 480)
        case .rejected: TransferResult(outcome: .rejected, status: 603)
        case .unreachable: TransferResult(outcome: .unreachable, status: 503)
        }
    }
}
