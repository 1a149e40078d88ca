import Basics
import CallEngine
import Reactor
import SIP
import Testing

@Suite struct SIPEndpointTests {
    /// Notes when something was sent.
    private final class Outbox: MessageSender {
        let loop: EventLoop
        var instants: [Instant] = []

        init(loop: EventLoop) { self.loop = loop }

        func send(_ octets: [UInt8], to hop: Hop) { instants.append(loop.now) }
        func localAddress(to hop: Hop) -> SocketAddress { SocketAddress(ip: .loopback4, port: 5060) }
        func flush() {}
    }

    @Test func requestsThatWereSentTogetherAreRepeatedTogether() {
        let loop = VirtualLoop()
        let outbox = Outbox(loop: loop)
        let endpoint = SIPEndpoint(loop: loop, sender: outbox, timers: SIPTimers(), seed: 1)
        let peer = Hop(transport: .udp, address: SocketAddress("192.0.2.7:5060")!)
        let began = loop.now
        for number in 0..<4 {
            loop.schedule(at: began + .milliseconds(1) + .microseconds(number * 700)) {
                let branch = endpoint.newBranch()
                let request =
                    "OPTIONS sip:x@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=\(String(decoding: branch, as: UTF8.self))\r\n\r\n"
                endpoint.send(Array(request.utf8), method: .options, branch: branch, to: peer) { _ in }
            }
        }
        loop.run(until: began + .milliseconds(600))
        #expect(outbox.instants.count == 8)
        // RFC 3261 section 17.1.2: T1 of 500 ms after it was sent; never earlier.
        #expect(outbox.instants.suffix(4) == Array(repeating: began + .milliseconds(504), count: 4)[...])
        endpoint.stop()
    }
}
