// What `collect` is told: the settings of its table, with their defaults.

package import CallEngine

/// The settings of one `collect`.
package struct CollectSettings: Sendable {
    /// Which keys cut a prompt.
    package enum BargeIn: Equatable, Sendable {
        case any
        case none
        case keys(Set<Digit>)
    }

    /// What becomes of keys that did not cut the prompt.
    package enum DuringPrompt: String, CaseIterable, Sendable {
        case keep
        case drop
    }

    /// The prompts of a `collect`; each is optional.
    package enum Prompt: String, CaseIterable, Sendable {
        case first
        case `repeat`
        case silence
        case invalid
        case goodbye
    }

    package var min = 1
    package var max = 1
    /// Keys that belong to an entry; `finishOn` ends it instead.
    package var allow = Self.digits("0123456789*#")
    package var finishOn = Digit("#")
    /// Which entry is valid; the index of the first choice that matches, or 0 without choices. nil: invalid.
    package var judge: @Sendable (String) -> Int? = { _ in 0 }
    package var firstDigit = Duration.seconds(5)
    package var between = Duration.seconds(3)
    package var within: Duration?
    package var bargeIn = BargeIn.any
    package var typeAhead = true
    package var duringPrompt = DuringPrompt.keep
    package var silenceTries = 3
    package var invalidTries = 3
    /// nil: as the engine decides (`auto`).
    package var sources: Set<DigitSource>?
    /// The prompts there are.
    package var prompts: Set<Prompt> = []

    package init() {}

    package static func digits(_ text: String) -> Set<Digit> { Set(text.compactMap { Digit($0) }) }
}

/// What a `collect` came to.
package struct CollectResult: Equatable, Sendable {
    package enum Reason: String, Sendable, CaseIterable {
        /// `max` digits are there.
        case complete
        /// The `finish-on` key ended it.
        case finished
        /// `between` or `within` ran out with `min` digits or more.
        case timeout
        /// Nothing was pressed, as often as `tries` allows.
        case silence
        /// What was pressed was not valid, as often as `tries` allows.
        case invalid
    }

    /// The entry without the `finish-on` key; empty for `silence` and `invalid`.
    package var value: String
    package var reason: Reason
    /// Which choice matched.
    package var choice: Int?
    /// The keys of the last try, `finish-on` included.
    package var keys: String
    /// Keys that were pressed and belong to no entry.
    package var ignored: String
    /// How the last key of the entry came; nil without one.
    package var source: DigitSource?
    /// From the start of the step to its end.
    package var took: Duration
}
