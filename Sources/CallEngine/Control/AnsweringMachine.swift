// Who answered: a person says a word or two and waits, an answering machine talks on. Told by when there is speech and how long, as
// Asterisk's AMD and the carriers' detections do; its names and defaults are theirs. Pure: blocks of speech or none in, a verdict out.
//
//   no speech for `initialSilence`                         unsure
//   speech goes on for `greeting`, or more than `words`    machine
//   `afterGreeting` of silence after less speech           human
//   none of this within `total`                            unsure

import Basics

/// The limits of the decision.
package struct AnswererSettings: Equatable, Sendable {
    /// Silence before the first word.
    package var initialSilence = Duration.milliseconds(2500)
    /// From the beginning of the first word to the end of the last: so much is no person.
    package var greeting = Duration.milliseconds(1500)
    /// Silence after it: the person waits for an answer.
    package var afterGreeting = Duration.milliseconds(800)
    /// The decision takes no longer than this.
    package var total = Duration.seconds(5)
    /// Sound that is shorter is no word.
    package var word = Duration.milliseconds(100)
    /// The pause that parts two words.
    package var pause = Duration.milliseconds(50)
    /// More words than this are no person's.
    package var words = 3

    package init() {}
}

/// The decision, and why.
package struct AnswererVerdict: Equatable, Sendable {
    package enum Answerer: String, Sendable {
        case human
        case machine
        case unsure
    }

    package enum Reason: String, Sendable {
        case shortGreeting = "short greeting"
        case longGreeting = "long greeting"
        case manyWords = "many words"
        case beep
        case noSpeech = "no speech"
        case undecided
    }

    package var answerer: Answerer
    package var reason: Reason

    package init(_ answerer: Answerer, _ reason: Reason) {
        self.answerer = answerer
        self.reason = reason
    }
}

/// Decides once.
package struct AnswererJudge {
    package let settings: AnswererSettings
    private var passed = Duration.zero
    private var begin: Duration?
    /// The end of the last speech.
    private var end = Duration.zero
    private var sound = Duration.zero
    private var isInWord = false
    private var words = 0

    package init(_ settings: AnswererSettings = AnswererSettings()) { self.settings = settings }

    /// A block of the stream: speech, or none.
    /// - Returns: the verdict, when this block makes it. Nothing is to be asked after it.
    package mutating func take(isSpeech: Bool, _ length: Duration) -> AnswererVerdict? {
        passed += length
        if isSpeech {
            sound += length
            end = passed
            if !isInWord, sound >= settings.word {
                isInWord = true
                words += 1
                // The word began where the sound did.
                if begin == nil { begin = passed - sound }
            }
        } else if passed - end >= settings.pause {
            sound = .zero
            isInWord = false
        }
        if let begin {
            if words > settings.words { return AnswererVerdict(.machine, .manyWords) }
            if end - begin >= settings.greeting { return AnswererVerdict(.machine, .longGreeting) }
            if passed - end >= settings.afterGreeting { return AnswererVerdict(.human, .shortGreeting) }
        } else if passed >= settings.initialSilence, sound == .zero {
            return AnswererVerdict(.unsure, .noSpeech)
        }
        return passed >= settings.total ? AnswererVerdict(.unsure, .undecided) : nil
    }
}
