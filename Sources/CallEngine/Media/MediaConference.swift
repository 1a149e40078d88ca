// A session in a conference: what its far side says is decoded once and goes to the room, what the room has encoded for it goes out. What is
// played meanwhile is heard in place of the conference; keys and recordings are as ever.

import Audio
import Basics
import Reactor

extension MediaSession {
    /// Takes part in a conference from now on, until `leave` or the end of the session. What played stops. One conference at a time.
    package func join(_ request: ConferenceRequest, of directory: ConferenceDirectory) throws(CallControlError) -> Participation {
        guard isReady else { throw .noMedia(operation: "conference") }
        guard codec.isCoded else { throw .invalid(operation: "conference", why: codec.notDecoded) }
        guard conference == nil else { throw .invalid(operation: "conference", why: "this call is in a conference already") }
        guard bridge == nil else { throw .invalid(operation: "conference", why: "this call is connected with another one") }
        stopPlaying(.stopped)
        stopUnder(.stopped)
        beginNow()
        let member = ConferenceMember(
            request, home: directory.home(of: request.room), loop: loop, codec: codec, packetTime: packetTime)
        conference = member
        seam?.begins(.conference)
        // Not weak, as with playbacks: the session leaves before it goes.
        member.onEnd = { [unowned self, unowned member] in
            if conference === member { conference = nil }
        }
        member.enter()
        return member.participation
    }

    /// Once a tick, before anything is sent.
    func passConferenceTime() { conference?.passTime() }

    /// The next frame of the conference, written to `services.payload`; nil when there is none.
    func nextOfConference() -> Int? {
        if conference?.beginsAnew() == true { seam?.begins(.conference) }
        return conference?.next(to: services.payload)
    }

    /// What the far side said, for the others. One that has put this end on hold plays music, which is not for them.
    func speakInConference(_ samples: UnsafeBufferPointer<Int16>, rate: Int) {
        guard let conference, conference.takesSound, expectsMedia else { return }
        if !conference.speak(samples, rate: rate) { services.counting.conferenceDrops += 1 }
    }
}
