import Basics
import RTP
import Testing

@Suite struct SourceLatchTests {
    private static let signaled = SocketAddress("192.0.2.1:4000")!
    private static let other = SocketAddress("198.51.100.9:5000")!
    private static let third = SocketAddress("198.51.100.9:5002")!

    struct Packet: Sendable {
        var source: SocketAddress
        var ssrc: UInt32 = 1
        var payload: UInt8 = 0
        var at = 0
    }

    @Test(
        arguments: [
            // packets; verdicts; where RTP goes in the end
            ([Packet(source: signaled), Packet(source: signaled)], [.accepted, .accepted], signaled),
            ([Packet(source: other), Packet(source: other), Packet(source: other)], [.candidate, .candidate, .latched], other),
            (
                [
                    Packet(source: other), Packet(source: other), Packet(source: other), Packet(source: signaled),
                    Packet(source: third)
                ],
                [.candidate, .candidate, .latched, .dropped, .dropped], other
            ),
            (
                [Packet(source: other), Packet(source: other), Packet(source: signaled), Packet(source: other)],
                [.candidate, .candidate, .accepted, .candidate], signaled
            ),
            (
                [Packet(source: other), Packet(source: other), Packet(source: other, ssrc: 2)],
                [.candidate, .candidate, .candidate], signaled
            ),
            (
                [Packet(source: other), Packet(source: other), Packet(source: third)], [.candidate, .candidate, .candidate],
                signaled
            ),
            (
                [Packet(source: other), Packet(source: other), Packet(source: other, payload: 9), Packet(source: other)],
                [.candidate, .candidate, .dropped, .candidate], signaled
            ),
            (
                [Packet(source: other, payload: 101), Packet(source: other, payload: 101), Packet(source: other)],
                [.candidate, .candidate, .latched], other
            ),
            (
                [Packet(source: other, at: 4900), Packet(source: other, at: 4950), Packet(source: other, at: 4999)],
                [.candidate, .candidate, .latched], other
            ),
            (
                [
                    Packet(source: other, at: 4900), Packet(source: other, at: 4950), Packet(source: other, at: 5000),
                    Packet(source: signaled, at: 6000)
                ],
                [.candidate, .candidate, .dropped, .accepted], signaled
            )
        ] as [([Packet], [SourceLatch.Verdict], SocketAddress)])
    func table(packets: [Packet], verdicts: [SourceLatch.Verdict], destination: SocketAddress) {
        var latch = SourceLatch(signaled: Self.signaled, payloads: [0, 101], at: .zero)
        let given = packets.map {
            latch.receive(from: $0.source, ssrc: $0.ssrc, payloadType: $0.payload, at: .zero + .milliseconds($0.at))
        }
        #expect(given == verdicts)
        #expect(latch.destination == destination && latch.isLatched == (destination != Self.signaled))
        #expect(latch.droppedCount == UInt64(verdicts.filter { $0 == .dropped }.count))
    }

    @Test func theNextExchangeOpensItAgain() {
        var latch = SourceLatch(signaled: Self.signaled, payloads: [0], at: .zero)
        for _ in 0..<3 { _ = latch.receive(from: Self.other, ssrc: 1, payloadType: 0, at: .zero) }
        let later = Instant.zero + .seconds(60)
        #expect(latch.receive(from: Self.third, ssrc: 1, payloadType: 0, at: later) == .dropped)
        latch.exchange(signaled: Self.signaled, payloads: [0], at: later)
        #expect(latch.destination == Self.signaled)
        // The source of before is heard at once and found again by the rule.
        let verdicts = (0..<3).map { _ in latch.receive(from: Self.other, ssrc: 1, payloadType: 0, at: later + .seconds(1)) }
        #expect(verdicts == [.accepted, .accepted, .latched])
        latch.exchange(signaled: Self.third, payloads: [0], at: later)
        #expect(latch.destination == Self.third)
        #expect(latch.receive(from: Self.other, ssrc: 1, payloadType: 0, at: later) == .candidate)
    }

    @Test func rtcpFollowsTheSource() {
        let rtcp = SocketAddress("192.0.2.1:4001")!
        var latch = SourceLatch(signaled: Self.signaled, payloads: [0], at: .zero)
        #expect(latch.rtcpDestination(signaled: rtcp, mux: false) == rtcp)
        #expect(latch.rtcpDestination(signaled: rtcp, mux: true) == Self.signaled)
        for _ in 0..<3 { _ = latch.receive(from: Self.other, ssrc: 1, payloadType: 0, at: .zero) }
        #expect(latch.rtcpDestination(signaled: rtcp, mux: false) == SocketAddress("198.51.100.9:5001"))
        #expect(latch.rtcpDestination(signaled: rtcp, mux: true) == Self.other)
    }
}
