// Whether a prompt can be played: it is opened and read, as the engine will.

import Audio
import Basics
package import FlowEngine

package struct AudioPromptInspector: PromptInspector {
    package init() {}

    package func inspect(path: String) -> PromptInfo {
        do throws(PromptError) {
            return .playable(try PromptFile.length(of: path))
        } catch {
            switch error {
            case .missing: return .missing
            case .unreadable(_, let reason), .notAudio(_, let reason): return .unreadable(reason)
            case .unfit(_, let reason): return .unreadable(reason)
            case .empty: return .unreadable("it holds no audio")
            case .tooLong(_, let limit): return .unreadable("it is longer than a prompt may be (\(limit))")
            }
        }
    }
}
