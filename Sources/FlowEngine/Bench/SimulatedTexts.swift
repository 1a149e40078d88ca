// Texts in the test bench: a target takes them as it would take a call (`bridges`), the far side of the call always.

import Basics
package import CallEngine
import Reactor

extension SimulatedCall {
    package func send(_ text: TextRequest) async throws -> TextResult {
        guard let target = text.target else {
            guard state == .answered else {
                throw CallControlError.wrongState(
                    operation: text.operation,
                    why: state.isEnded ? "the call has ended" : "the call is not answered yet; `answer` comes first")
            }
            return TextResult(.delivered, status: 200, reason: "OK")
        }
        let behaviour = behaviour(target)
        switch behaviour.outcome {
        case .answered: return TextResult(.delivered, status: 200, reason: "OK")
        case .busy: return TextResult(.refused, status: 486, reason: "Busy Here")
        case .rejected: return TextResult(.refused, status: 603, reason: "Decline")
        case .unreachable: return TextResult(.unreachable, reason: "nobody is there")
        case .noAnswer, .cancelled:
            try await loop.sleep(for: text.timeout)
            return TextResult(.noAnswer, reason: "no answer in time")
        }
    }
}
