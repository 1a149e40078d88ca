import Audio

/// What to record.
package struct RecordingRequest: Equatable, Sendable {
    package enum Channels: String, Equatable, Sendable {
        /// Both sides mixed.
        case mono
        /// The far side left, what we send right.
        case stereo
        /// The far side alone: a message.
        case caller
    }

    /// Absolute, already confined to the recordings folder; parent folders are made. Its ending says the format: `.opus` and `.ogg` Opus
    /// in Ogg, `.flac` FLAC, all else WAV.
    package var path: String
    package var channels: Channels

    /// The endings that choose a format, without the dot.
    package static let endings = AudioFileFormat.endings

    package init(path: String, channels: Channels = .caller) {
        self.path = path
        self.channels = channels
    }
}

/// How a recording ended. The file can be played at every moment.
package struct RecordingResult: Equatable, Sendable {
    package var path: String
    package var length: Duration
    package var bytes: Int
    /// SHA-256 of the file, lower-case hex; empty when it could not be read.
    package var checksum: String
    /// Whether every packet's audio is in it: nothing was dropped on the way to the disk and no write failed.
    package var complete: Bool
    /// Why not; empty when complete.
    package var detail: String
    /// How much of the far side's audio did not come while it ran: lost on the network, and concealed or silent in the file.
    package var lost: Duration

    package init(
        path: String, length: Duration = .zero, bytes: Int = 0, checksum: String = "", complete: Bool = false,
        detail: String = "", lost: Duration = .zero
    ) {
        self.path = path
        self.length = length
        self.bytes = bytes
        self.checksum = checksum
        self.complete = complete
        self.detail = detail
        self.lost = lost
    }
}

/// A recording that runs. It also ends with the call. Belongs to the call's loop.
package final class Recording {
    package private(set) var result: RecordingResult?
    /// Called once, when the file is closed; at once when it is already.
    package var onEnd: ((RecordingResult) -> Void)? {
        didSet {
            if let result, let onEnd { onEnd(result) }
        }
    }
    /// Set by the recorder: closes the file, then `finish` is called.
    package var stopRecorder: (() -> Void)?
    /// While true the file gets silence in place of audio; its length goes on.
    package var isPaused = false

    package init() {}

    package func stop() {
        let stop = stopRecorder
        stopRecorder = nil
        stop?()
    }

    /// For the recorder: reports the end, once.
    package func finish(_ result: RecordingResult) {
        guard self.result == nil else { return }
        self.result = result
        stopRecorder = nil
        onEnd?(result)
    }
}
