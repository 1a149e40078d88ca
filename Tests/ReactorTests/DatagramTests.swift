import Basics
import Reactor
import Testing

@Suite struct DatagramTests {
    @Test(arguments: LoopKind.allCases) func anEchoComesBackFromWhereItWasSent(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let server = try loop.bindDatagram(to: loopback)
            let client = try loop.bindDatagram(to: loopback)
            defer {
                server.close()
                client.close()
            }
            #expect(server.localAddress.port != 0 && server.localAddress != client.localAddress)
            server.onReceive = { [unowned server] bytes, peer in server.send(bytes, to: peer) }
            let answers = Mailbox<(String, SocketAddress)>(loop: loop)
            client.onReceive = { answers.send((text($0), $1)) }
            client.sendNow("now", to: server.localAddress)
            client.send("queued", to: server.localAddress)
            for expected in ["now", "queued"] {
                let answer = try await answers.next(until: loop.now + .seconds(5))
                #expect(answer?.0 == expected)
                #expect(answer?.1 == server.localAddress)
            }
            #expect(client.counters.sent == 2 && client.counters.received == 2)
        }
    }

    @Test(arguments: LoopKind.allCases) func aThousandDatagramsGoInBatches(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            var options = DatagramOptions()
            options.receiveBuffer = 1 << 20
            options.sendQueueLimit = 2000
            let server = try loop.bindDatagram(to: loopback, options: options)
            let client = try loop.bindDatagram(to: loopback, options: options)
            defer {
                server.close()
                client.close()
            }
            let all = Waiter<Void>()
            var received = 0
            var batches = 0
            server.onReceive = { bytes, _ in
                #expect(text(bytes) == "\(received)", "they come in order")
                received += 1
            }
            server.onBatchEnd = {
                batches += 1
                if received == 1000 { all.resume(returning: ()) }
            }
            for number in 0..<1000 {
                client.send("\(number)", to: server.localAddress)
                if number % 100 == 99 { try await loop.sleep(for: .milliseconds(1)) }
            }
            try await all.wait()
            #expect(client.counters.sent == 1000)
            #expect(client.counters.sendCalls <= 20)
            #expect(server.counters.received == 1000)
            #expect(batches < 500)
        }
    }
}
