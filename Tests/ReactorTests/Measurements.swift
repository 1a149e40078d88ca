import Basics
import CLinux
import Glibc
import Reactor
import Testing

/// Figures, not tests: they run when RINGWRIGHT_MEASURE is set, and mean something in release only.
@Suite(.serialized, .enabled(if: getenv("RINGWRIGHT_MEASURE") != nil)) struct Measurements {
    private static let total = 640_000
    private static let size = 172

    /// Sends in bursts of 32 and receives, all on one loop; the processor time of the loop's thread for each datagram.
    private static func measure(
        _ what: String, sockets: Int, _ reading: DatagramOptions.Reading, batched: Bool
    ) async throws {
        try await LoopKind.epoll.run { loop in
            var options = DatagramOptions()
            options.reading = reading
            options.receiveBuffer = 1 << 20
            var pairs: [(DatagramSocket, DatagramSocket)] = []
            var received = 0
            for _ in 0..<sockets {
                let pair = (try loop.bindDatagram(to: loopback, options: options), try loop.bindDatagram(to: loopback))
                pair.0.onReceive = { _, _ in received += 1 }
                pairs.append(pair)
            }
            let packet = [UInt8](repeating: 0x55, count: size)
            let begin = processorTime()
            for _ in 0..<total / 64 {
                for index in 0..<64 {
                    let (receiver, sender) = pairs[index % sockets]
                    packet.withUnsafeBytes {
                        if batched {
                            sender.send($0, to: receiver.localAddress)
                        } else {
                            sender.sendNow($0, to: receiver.localAddress)
                        }
                    }
                }
                if reading == .onDrain {
                    for (receiver, sender) in pairs {
                        sender.flush()
                        receiver.drain()
                    }
                } else {
                    try await loop.sleep(for: .zero)
                }
            }
            try await loop.sleep(for: .milliseconds(10))
            let took = processorTime() - begin
            print(what, Double(took) / Double(total) / 1000, "µs a datagram,", received, "of", total)
            for (receiver, sender) in pairs {
                receiver.close()
                sender.close()
            }
        }
    }

    /// Nanoseconds that this thread has worked: unlike time it does not count what other programs do meanwhile.
    private static func processorTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    @Test func datagrams() async throws {
        try await Self.measure("one socket, epoll, batches:", sockets: 1, .onArrival, batched: true)
        try await Self.measure("one socket, drained, batches:", sockets: 1, .onDrain, batched: true)
        try await Self.measure("64 sockets, epoll, single sends:", sockets: 64, .onArrival, batched: false)
        try await Self.measure("64 sockets, drained, single sends:", sockets: 64, .onDrain, batched: false)
    }
}
