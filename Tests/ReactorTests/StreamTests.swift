import Basics
import Reactor
import Testing

@Suite struct StreamTests {
    @Test(arguments: LoopKind.allCases) func bytesGoBothWaysAndBothEndsLearnOfTheEnd(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let ends = Mailbox<String>(loop: loop)
            let listener = try loop.listen(on: loopback) { stream in
                stream.onReceive = { [unowned stream] in _ = stream.send(Array($0).reversed()) }
                stream.onClose = { ends.send("server \($0)") }
            }
            defer { listener.close() }
            let client = try await loop.connect(to: listener.localAddress)
            #expect(client.isOpen && client.peerAddress == listener.localAddress && client.localAddress.port != 0)
            let answers = Mailbox<[UInt8]>(loop: loop)
            client.onReceive = { answers.send(Array($0)) }
            client.onClose = { ends.send("client \($0)") }
            #expect(client.send([1, 2, 3]))
            #expect(try await answers.next(until: loop.now + .seconds(5)) == [3, 2, 1])
            client.close()
            #expect(client.isClosed && !client.send([1]))
            #expect(try await ends.next(until: loop.now + .seconds(5)) == "client closed")
            #expect(try await ends.next(until: loop.now + .seconds(5)) == "server ended")
            #expect(listener.accepted == 1)
        }
    }

    @Test(arguments: LoopKind.allCases) func nobodyListens(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let listener = try loop.listen(on: loopback) { _ in }
            let address = listener.localAddress
            listener.close()
            let failure = await #expect(throws: StreamNotOpened.self) {
                _ = try await loop.connect(to: address)
            }
            #expect(failure?.description == "connect \(address): Connection refused")
        }
    }

    @Test func bothFamiliesOnOnePort() async throws {
        try await LoopKind.epoll.run { loop in
            let four = try loop.listen(on: SocketAddress(ip: .any4, port: 0)) { _ in }
            defer { four.close() }
            var options = StreamOptions()
            options.v6Only = true
            let six = try loop.listen(on: SocketAddress(ip: .any6, port: four.localAddress.port), options: options) { _ in }
            six.close()
        }
    }

    @Test(arguments: LoopKind.allCases) func aResetIsTold(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let listener = try loop.listen(on: loopback) { stream in
                stream.onReceive = { [unowned stream] _ in stream.abort() }
            }
            defer { listener.close() }
            let client = try await loop.connect(to: listener.localAddress)
            let over = Waiter<StreamEnd>()
            client.onClose = { over.resume(returning: $0) }
            client.send([1])
            let expected = SystemError(104, "receive from \(listener.localAddress)")
            #expect(try await over.wait() == .failed(expected))
            #expect(expected.reason == "Connection reset by peer")
        }
    }

    @Test(arguments: LoopKind.allCases) func oneDirectionEndsBeforeTheOther(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let events = Mailbox<String>(loop: loop)
            let listener = try loop.listen(on: loopback) { stream in
                stream.onPeerEnd = { [unowned stream] in
                    stream.send(Array("late".utf8))
                    stream.finish()
                }
                stream.onClose = { events.send("server \($0)") }
            }
            defer { listener.close() }
            let client = try await loop.connect(to: listener.localAddress)
            client.onReceive = { events.send(text($0)) }
            client.onClose = { events.send("client \($0)") }
            client.finish()
            var seen: Set<String> = []
            for _ in 0..<3 { seen.insert(try await events.next(until: loop.now + .seconds(5)) ?? "nothing") }
            #expect(seen == ["late", "server ended", "client ended"])
        }
    }

    @Test(arguments: LoopKind.allCases) func aReaderThatPausesHoldsTheWriter(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            var received = 0
            let accepted = Waiter<StreamConnection>()
            let all = Waiter<Void>()
            var expected = Int.max
            let listener = try loop.listen(on: loopback) { stream in
                stream.isReading = false
                stream.onReceive = {
                    received += $0.count
                    if received >= expected { all.resume(returning: ()) }
                }
                accepted.resume(returning: stream)
            }
            defer { listener.close() }
            var options = StreamOptions()
            options.outputLimit = 100_000
            let client = try await loop.connect(to: listener.localAddress, options: options)
            let server = try await accepted.wait()
            let drained = Waiter<Void>()
            client.onDrained = { drained.resume(returning: ()) }
            var sent = 0
            while client.send([UInt8](repeating: 7, count: 10_000)) { sent += 10_000 }
            #expect(client.counters.refused == 1)
            #expect(client.counters.waits >= 1)
            #expect(client.queuedBytes > 90_000 && client.queuedBytes <= 100_000)
            #expect(received == 0)
            expected = sent
            server.isReading = true
            try await all.wait()
            try await drained.wait()
            #expect(received == sent && client.queuedBytes == 0)
            client.close()
            server.close()
        }
    }

    @Test(arguments: LoopKind.allCases) func whatIsSentWhileConnectingIsQueued(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let got = Waiter<String>()
            let listener = try loop.listen(on: loopback) { stream in
                stream.onReceive = { got.resume(returning: text($0)) }
            }
            defer { listener.close() }
            let client = loop.openStream(to: listener.localAddress)
            #expect(client.send(Array("early".utf8)))
            #expect(try await got.wait() == "early")
            let over = Waiter<Void>()
            client.onClose = { _ in over.resume(returning: ()) }
            client.close()
            try await over.wait()
            try await loop.sleep(for: .milliseconds(20))
        }
    }

    @Test func aCutOffHostIsNotReachedInTime() async throws {
        let loop = VirtualLoop()
        let host = SocketAddress(ip: .v4(0x0A00_0002), port: 5060)
        var failure: StreamEnd?
        var at: Instant?
        loop.network.partition(host.ip)
        let listener = try loop.listen(on: host) { _ in }
        let stream = loop.openStream(to: host, timeout: .seconds(3))
        stream.onClose = {
            failure = $0
            at = loop.now
        }
        loop.run()
        #expect(failure == .timedOut && at == .zero + .seconds(3))
        listener.close()
        #expect(loop.openSockets == 0 && loop.network.openSockets == 0)
    }

    @Test func aStreamStandsStillUntilItsHostIsBack() async throws {
        let loop = VirtualLoop()
        loop.network.impairment.delay = .milliseconds(10)
        loop.network.impairment.loss = 0.1
        let host = SocketAddress(ip: .v4(0x0A00_0002), port: 5060)
        var received: [UInt8] = []
        let listener = try loop.listen(on: host) { stream in stream.onReceive = { received += Array($0) } }
        let stream = loop.openStream(to: host)
        for number in 0..<UInt8(100) { stream.send([number]) }
        loop.run(for: .milliseconds(15))
        loop.network.partition(host.ip)
        for number in 100..<UInt8(200) { stream.send([number]) }
        loop.run(for: .seconds(5))
        let before = received.count
        loop.network.heal(host.ip)
        loop.run(for: .seconds(5))
        #expect(before < 200)
        #expect(received == Array(0..<200))
        stream.close()
        loop.run(for: .seconds(5))
        listener.close()
        #expect(loop.openSockets == 0 && loop.network.openSockets == 0)
    }
}
