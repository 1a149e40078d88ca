// Conferences in the test bench: the room is as the case says under `conferences`.

import Basics
package import CallEngine
import Reactor

/// Who else is in a room.
struct RoomBehaviour: Sendable {
    /// How many are there when the call comes.
    var others = 1
    /// When a moderator comes; zero: one of the others is.
    var moderator: Duration?
    /// When the others leave, the moderator among them.
    var ends: Duration?
}

extension SimulatedCall {
    package func join(_ request: ConferenceRequest) throws(CallControlError) -> Participation {
        guard state == .answered else { throw .noMedia(operation: "conference") }
        guard participation == nil else {
            throw .invalid(operation: "conference", why: "this call is in a conference already")
        }
        let part = Participation(request)
        let room = room(request.room)
        var inside = ConferenceState(
            members: room.others + 1, hasModerator: request.isModerator || room.moderator == .zero && room.others > 0)
        guard room.others < request.mostMembers else {
            inside.members = room.others
            part.finish(.full, inside)
            return part
        }
        participation = part
        var timers: [LoopTimer] = []
        part.leaveRoom = { [weak self, unowned part] in
            for timer in timers { timer.cancel() }
            self?.participation = nil
            self?.onAction?("leaves the conference \(request.room)")
            part.finish(.left)
        }
        part.change(to: inside)
        onAction?("joins the conference \(request.room), \(inside.members) in it")
        if let delay = room.moderator, delay > .zero {
            timers.append(
                loop.schedule(after: delay) { [unowned self, unowned part] in
                    inside.members += 1
                    inside.hasModerator = true
                    onAction?("a moderator joins")
                    part.change(to: inside)
                })
        }
        if let delay = room.ends {
            timers.append(
                loop.schedule(after: delay) { [unowned self, unowned part] in
                    onAction?("the others leave")
                    guard request.endsWithModerator, inside.hasModerator else {
                        return part.change(to: ConferenceState(members: 1, hasModerator: request.isModerator))
                    }
                    for timer in timers { timer.cancel() }
                    participation = nil
                    part.finish(.ended, inside)
                })
        }
        return part
    }
}
