/// How a call takes part in a conference: a room that exists as long as somebody is in it.
package struct ConferenceRequest: Equatable, Sendable {
    /// The room's name; calls with the same name hear each other.
    package var room: String
    /// How loud the others hear this call, in dB.
    package var talkVolume = 0.0
    /// How loud this call hears the others, in dB.
    package var listenVolume = 0.0
    package var isMuted = false
    /// Whether all hear a tone when this call comes, and when it goes.
    package var joinTone = true
    package var leaveTone = true
    /// It is not let in when so many are there.
    package var mostMembers = 100
    package var isModerator = false
    /// It hears nobody, and is heard by nobody, while there is no moderator.
    package var waitsForModerator = false
    /// It is let go when the last moderator has left.
    package var endsWithModerator = false

    package init(room: String) { self.room = room }

    /// What volumes may be, in dB.
    package static let volumes = -40.0...20.0
}

/// Who is in a conference.
package struct ConferenceState: Equatable, Sendable {
    /// This call included.
    package var members: Int
    package var hasModerator: Bool

    package init(members: Int, hasModerator: Bool) {
        self.members = members
        self.hasModerator = hasModerator
    }
}

package enum ConferenceEnd: String, Sendable, CaseIterable {
    /// `leave()`, or the end of the call.
    case left
    /// It was not let in.
    case full
    /// The last moderator left, or the engine ends.
    case ended
}

/// One call's part in a conference. It ends with the call. Belongs to the call's loop.
package final class Participation {
    package let request: ConferenceRequest
    /// nil: the call is not in yet. After the end it says how it was then.
    package private(set) var state: ConferenceState?
    package private(set) var end: ConferenceEnd?
    /// This call is the active speaker.
    package private(set) var isSpeaking = false
    /// Called after each change of the three above; at once when there was one already.
    package var onChange: (() -> Void)? {
        didSet { if state != nil || end != nil { onChange?() } }
    }
    package var isMuted: Bool { didSet { if isMuted != oldValue { onControl?() } } }
    /// In dB, kept within `ConferenceRequest.volumes`.
    package var talkVolume: Double {
        didSet {
            talkVolume = talkVolume.clamped(to: ConferenceRequest.volumes)
            if talkVolume != oldValue { onControl?() }
        }
    }
    package var listenVolume: Double {
        didSet {
            listenVolume = listenVolume.clamped(to: ConferenceRequest.volumes)
            if listenVolume != oldValue { onControl?() }
        }
    }
    /// Set by the engine: it leaves.
    package var leaveRoom: (() -> Void)?
    /// Set by the engine: muted or a volume has changed.
    package var onControl: (() -> Void)?

    package init(_ request: ConferenceRequest) {
        self.request = request
        isMuted = request.isMuted
        talkVolume = request.talkVolume.clamped(to: ConferenceRequest.volumes)
        listenVolume = request.listenVolume.clamped(to: ConferenceRequest.volumes)
    }

    /// It hears nobody until a moderator comes.
    package var isWaiting: Bool { request.waitsForModerator && state?.hasModerator == false }

    /// Leaves the room. Once or more.
    package func leave() {
        let leave = leaveRoom
        leaveRoom = nil
        leave?()
    }

    /// For the engine: who is there now.
    package func change(to state: ConferenceState) {
        guard end == nil, state != self.state else { return }
        self.state = state
        onChange?()
    }

    /// For the engine: this call speaks, or another one.
    package func speaks(_ isSpeaking: Bool) {
        guard end == nil, isSpeaking != self.isSpeaking else { return }
        self.isSpeaking = isSpeaking
        onChange?()
    }

    /// For the engine: it is over, once.
    package func finish(_ end: ConferenceEnd, _ state: ConferenceState? = nil) {
        guard self.end == nil else { return }
        self.end = end
        if let state { self.state = state }
        isSpeaking = false
        leaveRoom = nil
        onControl = nil
        onChange?()
    }
}

extension Double {
    fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
        Swift.max(range.lowerBound, Swift.min(range.upperBound, self))
    }
}
