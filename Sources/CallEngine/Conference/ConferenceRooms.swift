// The conferences that live on one loop, by name. A room is there as long as somebody is in it.

import Audio
import Basics
import Reactor

/// Belongs to its loop; calls of other loops reach it by `LoopBound`.
package final class ConferenceRooms {
    private let services: MediaServices
    private var rooms: [String: ConferenceRoom] = [:]
    /// The loop ends: nobody is let in.
    private var isClosed = false

    package init(services: MediaServices) { self.services = services }

    func enter(_ link: ConferenceLink, _ member: LoopBound<ConferenceMember>, _ format: ConferenceFormat) {
        let name = link.request.room
        guard !isClosed else { return member.run { $0.ended(.ended, nil) } }
        let room: ConferenceRoom
        if let known = rooms[name] {
            guard known.state.members < link.request.mostMembers else {
                services.counting.conferenceRefusals += 1
                return member.run { [state = known.state] in $0.ended(.full, state) }
            }
            room = known
        } else {
            room = open(name)
        }
        services.counting.conferenceMembers += 1
        services.counting.conferenceMembersTotal += 1
        room.enter(link, member, format)
    }

    private func open(_ name: String) -> ConferenceRoom {
        let room = ConferenceRoom(services: services)
        rooms[name] = room
        services.counting.conferences += 1
        room.onDeparture = { [unowned self, unowned room] in
            services.counting.conferenceMembers -= 1
            guard room.state.members == 0 else { return }
            rooms[name] = nil
            services.counting.conferences -= 1
        }
        return room
    }

    func leave(_ link: ConferenceLink) {
        guard let room = rooms[link.request.room] else { return }
        room.leave(link)
    }

    func change(_ link: ConferenceLink, to format: ConferenceFormat) {
        rooms[link.request.room]?.change(link, to: format)
    }

    func hear(_ link: ConferenceLink, at volume: Double) {
        rooms[link.request.room]?.hear(link, at: volume)
    }

    /// Everybody is let go.
    func close() {
        isClosed = true
        for room in rooms.values { room.close() }
    }
}
