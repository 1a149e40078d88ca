// UDP segmentation offload (UDP_SEGMENT and UDP_GRO of udp(7)): datagrams that leave together take the way through the system as one, and
// are cut where they leave it. Who captures packets on this machine (tcpdump, sngrep) may see them uncut, as one message behind the other.

package import Basics
import CLinux

/// Whether datagrams of one length that leave together for one peer go to the kernel as one, which cuts them.
package enum DatagramSegmentation: String, CaseIterable, Sendable {
    /// While nobody on this machine captures packets.
    case auto
    case on, off
}

/// The options of <netinet/udp.h> for it.
enum SegmentOption {
    /// SOL_UDP
    static let level: Int32 = 17
    /// UDP_SEGMENT: what is sent is to be cut.
    static let cut: Int32 = 103
    /// UDP_GRO: what came may be several of one length.
    static let joined: Int32 = 104
}

/// Knows whether somebody captures packets in this network namespace; looks once a second, when it is asked.
package struct CaptureWatch {
    /// Reads the table of packet sockets; nil when it cannot be read.
    private let table: () -> [UInt8]?
    private var nextLook = Instant.zero
    private var isCapturing = true
    private static let interval = Duration.seconds(1)

    package init(table: @escaping () -> [UInt8]? = { (try? AtomicFile.read("/proc/net/packet")) ?? nil }) {
        self.table = table
    }

    /// True as well when the system does not tell.
    package mutating func isCapturing(at now: Instant) -> Bool {
        if now >= nextLook {
            nextLook = now + Self.interval
            isCapturing = table().map(Self.hasCapture) ?? true
        }
        return isCapturing
    }

    /// Whether a table of packet(7) sockets, a head and one in each line, has one that takes IP packets: of all protocols, IPv4 or IPv6.
    package static func hasCapture(_ table: [UInt8]) -> Bool {
        let protocols: [[UInt8]] = [Array("0003".utf8), Array("0800".utf8), Array("86dd".utf8)]
        return table.split(separator: 10).dropFirst().contains { line in
            let fields = line.split(separator: 32)
            return fields.count > 3 && protocols.contains(Array(fields[3]))
        }
    }
}
