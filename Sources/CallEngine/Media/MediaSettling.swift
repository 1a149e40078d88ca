// Once the source is fixed, the RTP socket is connected to it: the kernel keeps the route, which makes sending cheaper by a tenth, and
// drops what others send. The next offer/answer opens it to everybody again.
//
//   exchange                  open until the source is fixed, or is known and `SourceLatch.window` is over; packets from elsewhere are
//                             judged and counted by the latch
//   fixed, or window over     connected, unless we do not send, or the kernel would take packets at another address than we told
//   next exchange, close      not connected

import Basics
import RTP
import Reactor
import SDP

extension MediaSession {
    /// The source is fixed, or the window is over. A source that was never heard is waited for: nothing is connected before.
    func settle() {
        settlesAt = .never
        guard !isClosed, let latch, latch.isKnown, maySend else { return }
        do throws(SystemError) {
            try rtp.connect(to: latch.destination)
        } catch {
            // Sending will fail as well, and is counted there.
            return
        }
        // A host with several addresses may send from another one than the far side sends to.
        if rtp.localAddress.ip.isUnspecified, rtp.connectedAddress?.ip != negotiation.local.ip {
            rtp.disconnect()
        } else {
            isConnected = true
        }
    }

    /// The source may change again.
    func unsettle() {
        if isConnected { rtp.disconnect() }
        isConnected = false
        settlesAt = latch?.closesAt ?? .never
    }
}
