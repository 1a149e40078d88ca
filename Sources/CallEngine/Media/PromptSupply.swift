// Prompts that are no files yet: how the engine asks for them. Who composes the server has one.

import Reactor

/// Gets prompts. One for all loops.
package protocol PromptSupply: AnyObject, Sendable {
    /// Gets a file with the audio, which stays for a minute at least. `then` runs once, at once or on some thread, with the file's path.
    func file(of origin: PromptOrigin, then: @escaping @Sendable (Result<String, PromptUnavailable>) -> Void)
}

/// Why a prompt could not be got, in words that name it and hold no secret.
package struct PromptUnavailable: Error, Equatable, Sendable {
    package var reason: String

    package init(_ reason: String) { self.reason = reason }
}

extension PromptLibrary {
    /// Calls `taken` with the path of the prompt's file, on the loop: at once when it is there.
    func find(_ origin: PromptOrigin, _ taken: @escaping (Result<String, PromptUnavailable>) -> Void) {
        guard let supply = workers.supply else {
            return taken(.failure(PromptUnavailable("\(origin.shown): prompts of this kind cannot be got here")))
        }
        let bound = LoopBound(taken, on: loop)
        supply.file(of: origin) { result in bound.run { $0(result) } }
    }
}
