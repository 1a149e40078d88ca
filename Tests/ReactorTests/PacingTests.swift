import Basics
import Reactor
import Testing

/// What paced sockets of a busy loop do. The paces are so long, or so short, that the speed of the machine does not matter.
@Suite struct PacingTests {
    private static let never = Duration.seconds(3600)
    /// Single datagrams that a loop reads at once after a quiet time.
    private static let burst = 6

    @Test func aQuietLoopReadsAtOnceAndABusyOneLetsDatagramsGather() async throws {
        try await LoopKind.runEpoll(pace: Self.never) { loop in
            let (server, client) = try Self.pair(on: loop)
            let arrivals = Mailbox<String>(loop: loop)
            server.onReceive = { bytes, _ in arrivals.send(text(bytes)) }
            // The one after the burst is read, and from then on everything gathers.
            for number in 0...Self.burst {
                client.sendNow("\(number)", to: server.localAddress)
                #expect(try await arrivals.next(until: loop.now + .seconds(5)) == "\(number)")
            }
            let calls = server.counters.receiveCalls
            for _ in 0..<10 { client.sendNow("gathers", to: server.localAddress) }
            try await loop.sleep(for: .milliseconds(5))
            #expect(server.counters.receiveCalls == calls)
            // Nothing else waits: timers (above), jobs, sockets that are read on arrival.
            let urgent = try loop.bindDatagram(to: loopback)
            let urgentArrivals = Mailbox<String>(loop: loop)
            urgent.onReceive = { bytes, _ in urgentArrivals.send(text(bytes)) }
            client.sendNow("urgent", to: urgent.localAddress)
            #expect(try await urgentArrivals.next(until: loop.now + .seconds(5)) == "urgent")
            #expect(server.counters.receiveCalls == calls && loop.metrics.pacedTurns == 0)
            // Who wants them now gets them, in one batch.
            server.reading = .onArrival
            for _ in 0..<10 { #expect(try await arrivals.next(until: loop.now + .seconds(5)) == "gathers") }
            #expect(server.counters.receiveCalls == calls + 1)
            for socket in [server, client, urgent] { socket.close() }
        }
    }

    @Test func whatGatheredIsReadInBatches() async throws {
        let pace = Duration.milliseconds(20)
        try await LoopKind.runEpoll(pace: pace) { loop in
            let (server, client) = try Self.pair(on: loop)
            let all = Waiter<Void>()
            let count = 300
            var received = 0
            server.onReceive = { bytes, _ in
                #expect(text(bytes) == "\(received)", "they come in order")
                received += 1
                if received == count { all.resume(returning: ()) }
            }
            let began = loop.now
            for number in 0..<count {
                client.sendNow("\(number)", to: server.localAddress)
                try await loop.sleep(for: .microseconds(200))
            }
            try await all.wait()
            // A turn that happens anyway reads when half of the pace is over.
            let turns = Int((loop.now - began).nanoseconds / (pace.nanoseconds / 2)) + 1
            #expect(Int(server.counters.receiveCalls) <= Self.burst + 1 + turns + count / 64)
            #expect(loop.metrics.pacedTurns > 0)
            server.close()
            client.close()
        }
    }

    @Test func whenNothingGatheredTheKernelWakesTheLoopAgain() async throws {
        try await LoopKind.runEpoll(pace: .milliseconds(1)) { loop in
            let (server, client) = try Self.pair(on: loop)
            let arrivals = Mailbox<Void>(loop: loop)
            server.onReceive = { _, _ in arrivals.send(()) }
            for _ in 0..<3 {
                for _ in 0..<20 {
                    client.sendNow("x", to: server.localAddress)
                    #expect(try await arrivals.next(until: loop.now + .seconds(5)) != nil)
                }
                try await loop.sleep(for: .milliseconds(20))
                // At rest nothing looks: what is left are the turns of this wait.
                let turns = loop.metrics.pacedTurns
                try await loop.sleep(for: .milliseconds(20))
                #expect(loop.metrics.pacedTurns == turns)
            }
            server.close()
            client.close()
        }
    }

    @Test func aSocketThatGathersMayBeClosed() async throws {
        try await LoopKind.runEpoll(pace: .milliseconds(5)) { loop in
            let (server, client) = try Self.pair(on: loop)
            let (other, otherClient) = try Self.pair(on: loop)
            let closed = Waiter<Void>()
            var received = 0
            for socket in [server, other] {
                socket.onReceive = { _, _ in
                    received += 1
                    guard received == 100 else { return }
                    server.close()
                    other.close()
                    closed.resume(returning: ())
                }
            }
            for _ in 0..<100 {
                client.sendNow("x", to: server.localAddress)
                otherClient.sendNow("x", to: other.localAddress)
                try await loop.sleep(for: .microseconds(100))
            }
            try await closed.wait()
            // The numbers of their descriptors are in use again.
            let (next, nextClient) = try Self.pair(on: loop)
            let arrivals = Mailbox<Void>(loop: loop)
            next.onReceive = { _, _ in arrivals.send(()) }
            nextClient.sendNow("x", to: next.localAddress)
            #expect(try await arrivals.next(until: loop.now + .seconds(5)) != nil)
            #expect(received == 100)
            for socket in [client, otherClient, next, nextClient] { socket.close() }
        }
    }

    /// Turns of a timer with the rhythm of the pace and looks become the same, however far apart they began.
    @Test func looksFallTogetherWithTurnsThatHappenAnyway() async throws {
        let sending = try EpollLoop(name: "sending")
        try sending.start()
        defer { #expect(sending.stop(within: .seconds(10)) == EpollLoop.Leftovers()) }
        let pace = Duration.milliseconds(20)
        try await LoopKind.runEpoll(pace: pace) { loop in
            let (server, client) = try Self.pair(on: loop)
            client.close()
            let began = Waiter<Void>()
            var received = 0
            server.onReceive = { _, _ in
                received += 1
                if received == 3 * Self.burst { began.resume(returning: ()) }
            }
            let target = server.localAddress
            let stream = try sending.runAndWait { () throws(SystemError) in
                LoopBound(try SteadySender(on: sending, to: target), on: sending)
            }
            try await began.wait()
            let turns = loop.metrics.turns
            for _ in 0..<20 { try await loop.sleep(for: pace) }
            // Twenty of the timer; apart from it there would be as many looks.
            #expect(loop.metrics.turns - turns < 32)
            #expect(received > 3 * Self.burst)
            stream.runAndWait { $0.stop() }
            server.close()
        }
    }

    /// A datagram a millisecond.
    private final class SteadySender {
        private let socket: DatagramSocket
        private let target: SocketAddress
        private var timer: LoopTimer?

        init(on loop: EventLoop, to target: SocketAddress) throws(SystemError) {
            socket = try loop.bindDatagram(to: loopback)
            self.target = target
            turn()
        }

        private func turn() {
            socket.sendNow("x", to: target)
            timer = socket.loop.schedule(after: .milliseconds(1)) { self.turn() }
        }

        func stop() {
            timer?.cancel()
            socket.close()
        }
    }

    private static func pair(on loop: EventLoop) throws -> (paced: DatagramSocket, plain: DatagramSocket) {
        var options = DatagramOptions()
        options.reading = .paced
        options.receiveBuffer = 1 << 20
        return (try loop.bindDatagram(to: loopback, options: options), try loop.bindDatagram(to: loopback))
    }
}
