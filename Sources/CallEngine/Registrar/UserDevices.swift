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
        guard call.direction == .inbound, let device = call.device ?? AddressedDevice(publicIn: call), device.user == user else {
            return all
        }
        return all.filter { $0.gr?.elementsEqual(device.gr) == true }
    }
}

/// The one device of a user that a call was for.
final class AddressedDevice {
    let user: String
    /// Its instance, as a public GRUU names it.
    let gr: [UInt8]

    init(user: String, gr: [UInt8]) {
        self.user = user
        self.gr = gr
    }

    /// By its public GRUU.
    convenience init?(publicIn call: Call) {
        guard let uri = call.requestURI, let gr = uri.parameter("gr") else { return nil }
        self.init(user: uri.user, gr: Array(gr.utf8))
    }

    /// The user part of the Request-URI, when that may be a temporary GRUU.
    static func temporaryName(in invite: Message) -> String? {
        guard let uri = try? invite.requestURI(), uri.parameter("gr") != nil, TemporaryGRUUs.isName(uri.user) else { return nil }
        return uri.user
    }
}
