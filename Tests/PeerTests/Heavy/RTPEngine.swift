// rtpengine in user space, and the Kamailio that sends the media of its calls through it; Scenarios/kamailio-rtpengine.cfg says how.

import CallEngine
import Foundation
import TestKit

/// A proxy on a free port over UDP, with a media relay behind it.
final class RTPEngine {
    private let relay: PeerProgram
    private let proxy: Kamailio

    /// - Parameter first: the callee's URI.
    init(first: String) throws {
        let control = Ports.free()
        // Four ports a leg and call; a range of its own for each.
        let media = UInt16.random(in: 300...490) * 100
        relay = try HeavyPeer.rtpengine.start(
            [
                "--config-file=none", "--foreground", "--log-stderr", "--log-level=6", "--table=-1", "--interface=127.0.0.1",
                "--listen-ng=127.0.0.1:\(control)", "--port-min=\(media)", "--port-max=\(media + 99)", "--num-threads=1",
                "--delete-delay=0", "--endpoint-learning=immediate"
            ], in: TemporaryFolder())
        // It says so once its control socket is open.
        guard relay.waitForOutput("Startup complete", .seconds(10)) else {
            throw PeerError.missing("rtpengine, which says: \(relay.output)")
        }
        proxy = try Kamailio(relaying: first, by: "udp:127.0.0.1:\(control)")
    }

    /// A line that goes out through it.
    var line: LineSettings { proxy.line(.udp) }

    /// Ports that the proxy's descriptions named, in their order.
    var ports: [UInt16] {
        proxy.output.matches(of: /m=audio ([0-9]+) RTP/).compactMap { UInt16($0.output.1) }
    }

    /// What both told.
    var output: String { "\(proxy.output)\n\(relay.output)" }

    func stop() {
        proxy.stop()
        relay.stop()
    }
}
