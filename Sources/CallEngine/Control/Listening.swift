import Audio
package import Basics

/// What to listen for in the audio of the far side.
package struct ListenRequest: Equatable, Sendable {
    package var speech: Bool
    /// Report silence (or no packets at all) that lasts this long, counted from the start of listening or the end of sound.
    package var silence: Duration?
    /// Report tones with these frequencies (Hz) that sound together; several sets may be given.
    package var tones: [[Double]]
    /// Report the call progress tones of this country by name; one that `CallTones` knows.
    package var progress: String?
    /// Report fax machines.
    package var fax = false
    /// Report beeps, as an answering machine's.
    package var beep = false
    /// Tell a person from an answering machine; listening begins with the answer then.
    package var answerer: AnswererSettings?
    /// Look for this recording, by the path of its file.
    package var reference: String?
    /// The share of its sound that has to be heard; the rest is for loss and a start that was cut off.
    package static var enoughOfReference: Double { ReferenceMatcher.enough }

    package init(speech: Bool = false, silence: Duration? = nil, tones: [[Double]] = [], progress: String? = nil) {
        self.speech = speech
        self.silence = silence
        self.tones = tones
        self.progress = progress
    }

    /// A tone that is listened for is no beep, and neither is a sound of a call progress tone that a pause follows.
    var beepLimits: BeepLimits {
        BeepLimits(except: tones + (progress.flatMap(TonePlan.country)?.soundsBeforePauses ?? []))
    }

    /// Whether a sound of one frequency, in Hz, that silence follows is to be reported as a beep.
    package func isBeep(_ frequency: Double, _ length: Duration) -> Bool { beepLimits.isBeep(frequency, length) }
}

package enum ListenEvent: Equatable, Sendable {
    case speechBegan(at: Instant)
    case speechEnded(at: Instant)
    /// Silence lasted as long as asked; reported once until sound comes again.
    case silence(at: Instant)
    /// The frequencies as they were asked for.
    case tone([Double], at: Instant)
    /// A call progress tone, by the names that the plan has for it: two where busy and congestion are the same.
    case progress([String], at: Instant)
    /// A fax machine: `calling` (CNG) or `answering` (CED).
    case fax(String, at: Instant)
    /// A beep has ended. In Hz.
    case beep(frequency: Double, length: Duration, at: Instant)
    /// Once.
    case answerer(AnswererVerdict, at: Instant)
    /// More of the reference has been heard: the share (0 to 1) of its sound.
    case reference(share: Double, at: Instant)
    /// The reference cannot be looked for; names the file. Once.
    case referenceFailed(String)
}

/// A listener at work; `stop()` or the end of the call ends it. Belongs to the call's loop.
package final class Listening {
    /// Called for each event, in the turn in which the packet was read; of a reference, when a worker has looked.
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
