// Memory for the bodies of several responses together: where each may be large, many at a time are refused in place of being held.

import Reactor

/// Room for octets of bodies, which several calls share.
package final class BodyRoom: Sendable {
    private let left: Locked<Int>

    package init(octets: Int) { left = Locked(octets) }

    fileprivate func take(_ octets: Int) -> Bool {
        left.withLock { left in
            guard octets <= left else { return false }
            left -= octets
            return true
        }
    }

    fileprivate func give(_ octets: Int) { left.withLock { $0 += octets } }
}

/// What one call has of a room. It goes back when nobody holds the share any more.
package final class BodyShare: Sendable {
    private let room: BodyRoom
    private let taken = Locked(0)

    package init(of room: BodyRoom) { self.room = room }

    deinit { room.give(taken.withLock { $0 }) }

    /// Takes so many octets more; false: they are not left.
    package func take(_ octets: Int) -> Bool {
        guard room.take(octets) else { return false }
        taken.withLock { $0 += octets }
        return true
    }
}
