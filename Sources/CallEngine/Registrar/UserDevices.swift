// The devices of registered users, for who calls them.

import Basics
import Reactor
import SIP

extension CallShard {
    /// Where a registered user is reached: the preferred first. A connection that has ended leads nowhere, but its device may come back.
    func devices(of user: String) -> [Binding] { registrar?.devices(of: user, at: loop.now) ?? [] }

    /// The same for a call that came in: one for the GRUU of a device (RFC 5627 section 5.3) is for this device alone.
    func devices(of user: String, for call: Call) -> [Binding] {
        let all = devices(of: user)
        guard call.direction == .inbound, let uri = call.requestURI, let gr = uri.parameter("gr"), uri.user == user else {
            return all
        }
        return all.filter { $0.gr.map { text($0) } == gr }
    }
}
