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
        /// nil: one more than that of the packet before.
        var sequence: UInt16?
        /// Milliseconds; nil: 20 after the packet before.
        var at: Int?
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
            // The signaled address was heard: its third packet makes it the source.
            (
                [Packet(source: signaled), Packet(source: other), Packet(source: other), Packet(source: signaled)]
                    + [Packet](repeating: Packet(source: other), count: 3),
                [.accepted, .candidate, .candidate, .accepted, .candidate, .candidate, .latched], other
            ),
            (
                [Packet](repeating: Packet(source: signaled), count: 3) + [Packet](repeating: Packet(source: other), count: 3),
                [.accepted, .accepted, .accepted, .dropped, .dropped, .dropped], signaled
            ),
            // A row in the pause between two packets of the source.
            (
                [Packet(source: signaled, at: 0)] + (1...5).map { Packet(source: other, at: $0) } + [
                    Packet(source: signaled, at: 20)
                ],
                [.accepted, .candidate, .candidate, .candidate, .candidate, .candidate, .accepted], signaled
            ),
            // The same packet over and over, and numbers at will, are no stream.
            (
                [Packet](repeating: Packet(source: other, sequence: 7), count: 4),
                [.candidate, .candidate, .candidate, .candidate], signaled
            ),
            (
                [Packet(source: other, sequence: 7), Packet(source: other, sequence: 900), Packet(source: other, sequence: 5)],
                [.candidate, .candidate, .candidate], signaled
            ),
            (
                [Packet(source: other, sequence: 65_535), Packet(source: other, sequence: 3), Packet(source: other, sequence: 4)],
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
        let given = packets.enumerated().map { number, packet in
            latch.receive(
                from: packet.source, ssrc: packet.ssrc, sequence: packet.sequence ?? UInt16(number), payloadType: packet.payload,
                at: .zero + .milliseconds(packet.at ?? 20 * number))
        }
        #expect(given == verdicts)
        #expect(latch.destination == destination && latch.isLatched == (destination != Self.signaled))
        #expect(latch.droppedCount == UInt64(verdicts.filter { $0 == .dropped }.count))
    }

    /// Three packets in a row of one stream.
    private func three(_ latch: inout SourceLatch, from source: SocketAddress, at now: Instant = .zero) -> [SourceLatch.Verdict] {
        (0..<3).map {
            latch.receive(from: source, ssrc: 1, sequence: $0, payloadType: 0, at: now + .milliseconds(20 * Int($0)))
        }
    }

    /// Who is muted at first, behind NAT, is heard later: his packets come from the host that his signaling comes from.
    @Test func aSourceThatWasNeverHeardIsWaitedFor() {
        let late = Instant.zero + .seconds(20)
        var latch = SourceLatch(signaled: Self.signaled, payloads: [0], signalingIP: Self.other.ip, at: .zero)
        #expect(!latch.isKnown)
        #expect(three(&latch, from: SocketAddress("203.0.113.66:4000")!, at: late) == [.dropped, .dropped, .dropped])
        var other = latch
        #expect(three(&other, from: Self.other, at: late) == [.candidate, .candidate, .latched])
        #expect(three(&other, from: Self.third, at: late) == [.dropped, .dropped, .dropped])
        // The signaled host from another port, and the signaled address itself.
        let port = SocketAddress(ip: Self.signaled.ip, port: 4444)
        var moved = latch
        #expect(three(&moved, from: port, at: late) == [.candidate, .candidate, .latched])
        #expect(three(&latch, from: Self.signaled, at: late) == [.accepted, .accepted, .accepted])
        #expect(three(&latch, from: Self.other, at: late) == [.dropped, .dropped, .dropped] && latch.isKnown)
        // Another address in a description is not known.
        latch.exchange(signaled: Self.third, payloads: [0], at: late)
        #expect(!latch.isKnown)
    }

    @Test func theNextExchangeOpensItAgain() {
        var latch = SourceLatch(signaled: Self.signaled, payloads: [0], at: .zero)
        #expect(three(&latch, from: Self.other) == [.candidate, .candidate, .latched])
        let later = Instant.zero + .seconds(60)
        #expect(three(&latch, from: Self.third, at: later) == [.dropped, .dropped, .dropped])
        // A refresh: RTP still goes to the source that was found; it may move now, as long as the source says nothing.
        latch.exchange(signaled: Self.signaled, payloads: [0], at: later)
        #expect(latch.destination == Self.other)
        var refreshed = latch
        #expect(three(&refreshed, from: Self.other, at: later) == [.accepted, .accepted, .accepted])
        #expect(three(&refreshed, from: Self.third, at: later) == [.dropped, .dropped, .dropped])
        #expect(three(&latch, from: Self.third, at: later) == [.candidate, .candidate, .latched])
        // Another address in the description: RTP goes there.
        latch.exchange(signaled: Self.other, payloads: [0], at: later)
        #expect(latch.destination == Self.other)
        #expect(latch.receive(from: Self.third, ssrc: 1, sequence: 0, payloadType: 0, at: later) == .candidate)
    }

    @Test func rtcpFollowsTheSource() {
        let rtcp = SocketAddress("192.0.2.1:4001")!
        var latch = SourceLatch(signaled: Self.signaled, payloads: [0], at: .zero)
        #expect(latch.rtcpDestination(signaled: rtcp, mux: false) == rtcp)
        #expect(latch.rtcpDestination(signaled: rtcp, mux: true) == Self.signaled)
        _ = three(&latch, from: Self.other)
        #expect(latch.rtcpDestination(signaled: rtcp, mux: false) == SocketAddress("198.51.100.9:5001"))
        #expect(latch.rtcpDestination(signaled: rtcp, mux: true) == Self.other)
    }
}
