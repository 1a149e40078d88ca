package import Basics

/// What to listen for in the audio of the far side.
package struct ListenRequest: Equatable, Sendable {
    package var speech: Bool
    /// Report silence (or no packets at all) that lasts this long, counted from the start of listening or the end of sound.
    package var silence: Duration?
    /// Report tones with these frequencies (Hz) that sound together; several sets may be given.
    package var tones: [[Double]]

    package init(speech: Bool = false, silence: Duration? = nil, tones: [[Double]] = []) {
        self.speech = speech
        self.silence = silence
        self.tones = tones
    }
}

package enum ListenEvent: Equatable, Sendable {
    case speechBegan(at: Instant)
    case speechEnded(at: Instant)
    /// Silence lasted as long as asked; reported once until sound comes again.
    case silence(at: Instant)
    /// The frequencies as they were asked for.
    case tone([Double], at: Instant)
}

/// A listener at work; `stop()` or the end of the call ends it. Belongs to the call's loop.
package final class Listening {
    /// Called for each event, in the turn in which the packet was read.
    package var onEvent: ((ListenEvent) -> Void)?
    /// Set by the engine.
    package var stopListening: (() -> Void)?

    package init() {}

    package func stop() {
        onEvent = nil
        let stop = stopListening
        stopListening = nil
        stop?()
    }
}
