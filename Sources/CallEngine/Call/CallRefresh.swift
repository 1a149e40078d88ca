// Session timers (RFC 4028 section 7.4): the refresh that is due goes out as UPDATE where the peer takes that, else as a re-INVITE
// that changes nothing.

import Basics
import Reactor
import SIP

extension Call {
    /// Sends a refresh, or tries again soon when something else is under way.
    func refreshSession() {
        var isSent = false
        if session?.machine.peerAllowsUpdate == true {
            update { isSent = $0.send(.update, into: &$1) }
        } else if let media, session?.machine.mayReinvite == true, renegotiation == nil {
            let offer = media.makeOffer()
            update { isSent = $0.reinvite(body: offer, into: &$1) }
        }
        if !isSent { update { session, _ in session.refreshLater(at: self.loop.now) } }
    }
}
