// The devices of registered users, for who calls them.

import Basics
import Reactor
import SIP

extension CallShard {
    /// Where a registered user is reached: the preferred first. A connection that has ended leads nowhere, but its device may come back.
    func devices(of user: String) -> [Binding] { registrar?.devices(of: user, at: loop.now) ?? [] }
}
