// When datagrams that leave together may go to the kernel as one: not while somebody here captures packets.

import Basics
import CLinux
import Glibc
import Reactor
import Testing

@Suite struct SegmentationTests {
    private static let head = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"
    /// A row of packet(7)'s table with its protocol.
    private static func row(_ protocolNumber: String) -> String {
        "0000000040e57547 3      3    \(protocolNumber)   0     1 0      0      9592395\n"
    }

    @Test(arguments: [
        ("", false), (row("0003"), true), (row("0800"), true), (row("86dd"), true), (row("88cc"), false),
        (row("888e") + row("0003"), true), ("garbage\n", false)
    ]) func theTableOfPacketSockets(rows: String, isCapture: Bool) {
        #expect(CaptureWatch.hasCapture(Array((Self.head + rows).utf8)) == isCapture)
    }

    @Test func itIsReadOnceASecond() {
        final class Table {
            var content: [UInt8]? = Array(SegmentationTests.head.utf8)
            var reads = 0
        }
        let table = Table()
        var watch = CaptureWatch {
            table.reads += 1
            return table.content
        }
        let start = Instant.zero + .seconds(5)
        var told = [watch.isCapturing(at: start)]
        table.content = Array((Self.head + Self.row("0003")).utf8)
        told.append(watch.isCapturing(at: start + .milliseconds(999)))
        #expect(table.reads == 1)
        told.append(watch.isCapturing(at: start + .seconds(1)))
        #expect(table.reads == 2)
        table.content = Array(Self.head.utf8)
        told.append(watch.isCapturing(at: start + .seconds(2)))
        table.content = nil
        told.append(watch.isCapturing(at: start + .seconds(3)))
        #expect(told == [false, false, true, false, true])
    }

    /// A packet socket, as tcpdump has one, keeps them apart.
    @Test func aCaptureSeesEachByItself() async throws {
        let everything: Int32 = 0x0300  // ETH_P_ALL in the network's order
        let capture = socket(AF_PACKET, Int32(SOCK_RAW.rawValue), everything)
        guard capture >= 0 else { return }  // Takes the right to do so (CAP_NET_RAW).
        defer { _ = Glibc.close(capture) }
        try await tenAtOnce(CaptureWatch(), segmented: 0)
    }

    @Test(arguments: [("", 10), (row("88cc"), 10), (row("0003"), 0)] as [(String, UInt64)])
    func whoCapturesDecides(rows: String, segmented: UInt64) async throws {
        let table = Array((Self.head + rows).utf8)
        try await tenAtOnce(CaptureWatch { table }, segmented: segmented)
    }

    private func tenAtOnce(_ captures: sending CaptureWatch, segmented: UInt64) async throws {
        let captures = Locked(captures)
        try await LoopKind.runEpoll { loop in
            loop.captures = captures.withLock { $0 }
            var options = DatagramOptions()
            options.segmentation = .auto
            let server = try loop.bindDatagram(to: loopback, options: options)
            let client = try loop.bindDatagram(to: loopback, options: options)
            defer { for socket in [server, client] { socket.close() } }
            let all = Waiter<Void>()
            var heard = 0
            server.onReceive = { _, _ in
                heard += 1
                if heard == 10 { all.resume(returning: ()) }
            }
            for _ in 0..<10 { client.send("one of ten", to: server.localAddress) }
            try await all.wait()
            #expect(client.counters.sent == 10 && client.counters.segmented == segmented)
        }
    }
}
