import Basics
import Reactor
import Testing

/// What streams of a busy loop do. The paces are so long that the speed of the machine does not matter.
@Suite struct StreamPacingTests {
    private static let never = Duration.seconds(3600)
    /// Inputs that a loop reads at once after a quiet time.
    private static let burst = 6

    @Test func inputOfABusyStreamGathersUntilSomebodyTurnsReadingOffAndOn() async throws {
        try await LoopKind.runEpoll(pace: Self.never) { loop in
            let (server, client) = try await Self.pair(on: loop)
            let arrivals = try await Self.makeBusy(server, by: client)
            let received = server.counters.receivedBytes
            for _ in 0..<10 { client.send(Array("gathers".utf8)) }
            try await loop.sleep(for: .milliseconds(5))
            #expect(server.counters.receivedBytes == received)
            // Other streams, and the end that this one wrote, are served as ever.
            let (urgent, urgentClient) = try await Self.pair(on: loop)
            let urgentArrivals = Mailbox<String>(loop: loop)
            urgent.onReceive = { urgentArrivals.send(text($0)) }
            urgentClient.send(Array("urgent".utf8))
            #expect(try await urgentArrivals.next(until: loop.now + .seconds(5)) == "urgent")
            let back = Mailbox<String>(loop: loop)
            client.onReceive = { back.send(text($0)) }
            server.send(Array("back".utf8))
            #expect(try await back.next(until: loop.now + .seconds(5)) == "back")
            #expect(server.counters.receivedBytes == received && loop.metrics.pacedTurns == 0)
            server.isReading = false
            server.isReading = true
            #expect(try await arrivals.next(until: loop.now + .seconds(5)) == String(repeating: "gathers", count: 10))
            for stream in [server, client, urgent, urgentClient] { stream.close() }
        }
    }

    @Test func gatheredInputIsReadByTheTurnsOfThePace() async throws {
        let pace = Duration.milliseconds(20)
        try await LoopKind.runEpoll(pace: pace) { loop in
            let (server, client) = try await Self.pair(on: loop)
            let all = Waiter<Void>()
            let count = 300
            var received = 0
            var reads = 0
            server.onReceive = { bytes in
                reads += 1
                received += bytes.count
                if received == count { all.resume(returning: ()) }
            }
            let began = loop.now
            for _ in 0..<count {
                client.send([7])
                try await loop.sleep(for: .microseconds(200))
            }
            try await all.wait()
            let turns = Int((loop.now - began).nanoseconds / (pace.nanoseconds / 2)) + 1
            #expect(reads <= Self.burst + 1 + turns)
            #expect(loop.metrics.pacedTurns > 0)
            server.close()
            client.close()
        }
    }

    @Test func whenNothingGatheredTheKernelWakesTheLoopAgain() async throws {
        try await LoopKind.runEpoll(pace: .milliseconds(1)) { loop in
            let (server, client) = try await Self.pair(on: loop)
            let arrivals = Mailbox<Void>(loop: loop)
            server.onReceive = { _ in arrivals.send(()) }
            for _ in 0..<3 {
                for _ in 0..<20 {
                    client.send([7])
                    #expect(try await arrivals.next(until: loop.now + .seconds(5)) != nil)
                }
                try await loop.sleep(for: .milliseconds(20))
                let turns = loop.metrics.pacedTurns
                try await loop.sleep(for: .milliseconds(20))
                #expect(loop.metrics.pacedTurns == turns)
            }
            server.close()
            client.close()
        }
    }

    @Test func anEndIsNoticedWhileInputGathers() async throws {
        try await LoopKind.runEpoll(pace: .milliseconds(20)) { loop in
            let (server, client) = try await Self.pair(on: loop)
            let arrivals = try await Self.makeBusy(server, by: client)
            let ends = Mailbox<StreamEnd>(loop: loop)
            server.onClose = { ends.send($0) }
            client.send(Array("last".utf8))
            client.close()
            #expect(try await arrivals.next(until: loop.now + .seconds(5)) == "last")
            #expect(try await ends.next(until: loop.now + .seconds(5)) == .ended)
        }
    }

    @Test func aResetIsNoticedAtOnceWhileInputGathers() async throws {
        try await LoopKind.runEpoll(pace: Self.never) { loop in
            let (server, client) = try await Self.pair(on: loop)
            _ = try await Self.makeBusy(server, by: client)
            let ends = Mailbox<StreamEnd>(loop: loop)
            server.onClose = { ends.send($0) }
            client.abort()
            #expect(try await ends.next(until: loop.now + .seconds(5)) != nil)
        }
    }

    /// A stream that stops reading, or ends another that gathers, from inside of what it hears.
    @Test(arguments: [false, true]) func handlersMayStopReadingAndEndOthers(closes: Bool) async throws {
        try await LoopKind.runEpoll(pace: .milliseconds(5)) { loop in
            let (server, client) = try await Self.pair(on: loop)
            let (other, otherClient) = try await Self.pair(on: loop)
            let done = Waiter<Void>()
            var received = 0
            for stream in [server, other] {
                stream.onReceive = { bytes in
                    received += bytes.count
                    guard received >= 100, stream.isReading else { return }
                    if closes { other.close() }
                    server.isReading = false
                    other.isReading = false
                    done.resume(returning: ())
                }
            }
            for _ in 0..<100 {
                client.send([7])
                otherClient.send([7])
                try await loop.sleep(for: .microseconds(100))
            }
            try await done.wait()
            let before = received
            client.send([7])
            try await loop.sleep(for: .milliseconds(15))
            #expect(received == before, "nothing is read")
            let more = Waiter<Void>()
            server.onReceive = { _ in more.resume(returning: ()) }
            server.isReading = true
            try await more.wait()
            for stream in [server, client, other, otherClient] { stream.close() }
        }
    }

    /// Sends as many single inputs as it takes until input gathers; returns where input of `server` arrives.
    private static func makeBusy(_ server: StreamConnection, by client: StreamConnection) async throws -> Mailbox<String> {
        let arrivals = Mailbox<String>(loop: server.loop)
        server.onReceive = { arrivals.send(text($0)) }
        for number in 0...burst {
            client.send(Array("\(number)".utf8))
            #expect(try await arrivals.next(until: server.loop.now + .seconds(5)) == "\(number)")
        }
        return arrivals
    }

    private static func pair(on loop: EventLoop) async throws -> (server: StreamConnection, client: StreamConnection) {
        let accepted = Mailbox<StreamConnection>(loop: loop)
        let listener = try loop.listen(on: loopback) { accepted.send($0) }
        defer { listener.close() }
        let client = try await loop.connect(to: listener.localAddress)
        return (try #require(try await accepted.next(until: loop.now + .seconds(5))), client)
    }
}
