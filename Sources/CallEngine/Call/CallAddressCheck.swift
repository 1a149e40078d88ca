// Whether this end names an address of its own under which nobody finds it: answers still come back, since they go where the request came
// from (RFC 3581), and audio does not.

package import Basics
import SIP

extension Call {
    /// The address that the far side saw in place of the one that our INVITE named (`received` in its Via, RFC 3261 section 18.2.1); nil:
    /// the same, or it is not known.
    package var seenAddress: IPAddress? {
        guard direction == .outbound, let via = try? finalResponse?.topVia(), let seen = via.received else { return nil }
        return IPAddress(via.host) == seen ? nil : seen
    }
}
