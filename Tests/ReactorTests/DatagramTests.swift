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

    @Test(arguments: LoopKind.allCases) func arrivalIsToldAlsoWhenTheSocketIsReadLater(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            var options = DatagramOptions()
            options.reading = .onDrain
            options.stampsArrival = true
            let server = try loop.bindDatagram(to: loopback, options: options)
            let client = try loop.bindDatagram(to: loopback)
            defer {
                server.close()
                client.close()
            }
            var arrivals: [Instant] = []
            server.onReceive = { [unowned server] _, _ in arrivals.append(server.arrival) }
            // The kernel begins to stamp a moment after the first socket asks for it.
            client.sendNow("none", to: server.localAddress)
            try await loop.sleep(for: .milliseconds(50))
            server.drain()
            arrivals = []
            let first = loop.now
            client.sendNow("first", to: server.localAddress)
            try await loop.sleep(for: .milliseconds(30))
            let second = loop.now
            client.sendNow("second", to: server.localAddress)
            try await loop.sleep(for: .milliseconds(30))
            server.drain()
            #expect(arrivals.count == 2)
            // The wall clock, by which the kernel stamps, is read apart from the loop's: allow it a millisecond.
            #expect(arrivals[0] >= first - .milliseconds(1) && arrivals[0] < second)
            #expect(arrivals[1] >= second - .milliseconds(1) && arrivals[1] < loop.now)
            #expect(arrivals[1] - arrivals[0] >= .milliseconds(28))
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

    /// Two peers and changing lengths; what an interface cannot cut goes all the same.
    @Test func whatTheKernelCutsComesInOrderAndWhole() async throws {
        try await LoopKind.runEpoll { loop in
            var options = DatagramOptions()
            options.receiveBuffer = 4 << 20
            options.segmentation = .on
            let peers = try (0..<2).map { _ in try loop.bindDatagram(to: loopback, options: options) }
            let client = try loop.bindDatagram(to: loopback, options: options)
            defer { for socket in peers + [client] { socket.close() } }
            let lengths =
                [400, 400, 400, 401, 401, 0, 1, 1, 1452, 1452, 1453, 1453, 9000, 9000] + Array(repeating: 500, count: 150)
            let all = Waiter<Void>()
            var heard: [[[UInt8]]] = [[], []]
            for (index, peer) in peers.enumerated() {
                peer.onReceive = { bytes, _ in
                    heard[index].append(Array(bytes))
                    if heard.allSatisfy({ $0.count == lengths.count }) { all.resume(returning: ()) }
                }
            }
            let sent = lengths.enumerated().map { number, length in [UInt8](repeating: UInt8(number), count: length) }
            for datagram in sent { datagram.withUnsafeBytes { client.send($0, to: peers[0].localAddress) } }
            for datagram in sent { datagram.withUnsafeBytes { client.send($0, to: peers[1].localAddress) } }
            try await all.wait()
            #expect(heard == [sent, sent])
            #expect(client.counters.sent == UInt64(2 * lengths.count))
            #expect(client.counters.sentBytes == UInt64(2 * lengths.reduce(0, +)))
            // Those alone of their length between others, and those that an Ethernet frame cannot hold, go by themselves.
            let alone = lengths.indices.filter { lengths[$0] == 0 || lengths[$0] > 1452 }.count
            let most = UInt64(2 * (lengths.count - alone))
            #expect(client.counters.segmented > most - 12 && client.counters.segmented <= most)
            #expect(peers[0].counters.segmented == 0)
            // The loopback interface cuts nothing: they come as they went.
            #expect(peers.reduce(0) { $0 + $1.counters.joined } == client.counters.segmented)
        }
    }

    /// The kernel refuses it as a whole: each datagram is then sent, or refused, by itself.
    @Test func oneThatCannotBeSentTakesNoOtherWithIt() async throws {
        try await LoopKind.runEpoll { loop in
            var options = DatagramOptions()
            options.segmentation = .on
            let server = try loop.bindDatagram(to: loopback)
            let client = try loop.bindDatagram(to: loopback, options: options)
            defer {
                server.close()
                client.close()
            }
            let arrived = Waiter<Void>()
            var heard = 0
            server.onReceive = { _, _ in
                heard += 1
                if heard == 2 { arrived.resume(returning: ()) }
            }
            // The kernel sends nothing to port 0.
            let nowhere = SocketAddress(ip: .loopback4, port: 0)
            client.send("aa", to: server.localAddress)
            for _ in 0..<2 { client.send("aa", to: nowhere) }
            client.send("aa", to: server.localAddress)
            try await arrived.wait()
            #expect(client.counters.sent == 2 && client.counters.droppedRefused == 2)
        }
    }

    @Test(arguments: LoopKind.allCases) func aSocketThatIsDrainedIsReadOnlyThen(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            var options = DatagramOptions()
            options.reading = .onDrain
            let server = try loop.bindDatagram(to: loopback, options: options)
            let client = try loop.bindDatagram(to: loopback)
            defer {
                server.close()
                client.close()
            }
            var received = 0
            let arrived = Waiter<Void>()
            server.onReceive = { _, _ in
                received += 1
                if received == 101 { arrived.resume(returning: ()) }
            }
            for _ in 0..<100 { client.send("x", to: server.localAddress) }
            client.flush()
            try await loop.sleep(for: .milliseconds(5))
            #expect(received == 0)
            #expect(server.drain() == 100)
            #expect(received == 100)
            client.send("x", to: server.localAddress)
            server.reading = .onArrival
            try await arrived.wait()
            server.reading = .onDrain
            client.sendNow("x", to: server.localAddress)
            try await loop.sleep(for: .milliseconds(5))
            #expect(received == 101)
            #expect(server.drain() == 1)
        }
    }

    @Test(arguments: LoopKind.allCases) func aPeerThatIsNotThereIsReportedAndNothingEnds(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let gone = try loop.bindDatagram(to: loopback)
            let address = gone.localAddress
            gone.close()
            var options = DatagramOptions()
            options.reportsErrors = true
            let reporting = try loop.bindDatagram(to: loopback, options: options)
            let connected = try loop.bindDatagram(to: loopback)
            try connected.connect(to: address)
            defer {
                reporting.close()
                connected.close()
            }
            for socket in [reporting, connected] {
                let reports = Mailbox<(SystemError, SocketAddress?)>(loop: loop)
                socket.onError = { reports.send(($0, $1)) }
                socket.sendNow("anybody?", to: address)
                let report = try await reports.next(until: loop.now + .seconds(5))
                #expect(report?.0.reason == "Connection refused")
                if socket === reporting { #expect(report?.1 == address) }
                #expect(socket.counters.unreachable >= 1)
                #expect(socket.sendNow("still works", to: address))
            }
            let echo = Waiter<Void>()
            reporting.onReceive = { _, _ in echo.resume(returning: ()) }
            reporting.send("to myself", to: reporting.localAddress)
            try await echo.wait()
        }
    }

    @Test(arguments: LoopKind.allCases) func aLookGivesWhatCameAndWhoSentIt(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            var options = DatagramOptions()
            options.reading = .onDrain
            options.stampsArrival = true
            let server = try loop.bindDatagram(to: loopback, options: options)
            let client = try loop.bindDatagram(to: loopback)
            let stranger = try loop.bindDatagram(to: loopback)
            defer { for socket in [server, client, stranger] { socket.close() } }
            func look() async throws -> [String] {
                try await loop.sleep(for: .milliseconds(20))
                var found: [String] = []
                while let datagram = server.look(after: found.count) {
                    let name = datagram.source.map { $0 == client.localAddress ? "client" : "stranger" } ?? "peer"
                    found.append("\(text(datagram.bytes)) of \(name)")
                }
                return found
            }
            #expect(try await look().isEmpty)
            // As it goes on for a while, one datagram is believed to be all there is; nothing is lost by that.
            for number in 0..<40 {
                client.sendNow("\(number)", to: server.localAddress)
                #expect(try await look() == ["\(number) of client"])
            }
            client.sendNow("a", to: server.localAddress)
            client.sendNow("b", to: server.localAddress)
            let now = try await look()
            #expect(try await now + look() == ["a of client", "b of client"])
            // What a stranger sent before the socket was connected is still known as his.
            stranger.sendNow("early", to: server.localAddress)
            try await loop.sleep(for: .milliseconds(20))
            try server.connect(to: client.localAddress)
            stranger.sendNow("late", to: server.localAddress)
            client.sendNow("c", to: server.localAddress)
            let mixed = try await look()
            #expect(mixed.count == 2 && mixed[0] == "early of stranger" && mixed[1].hasPrefix("c of "))
            client.sendNow("d", to: server.localAddress)
            #expect(try await look() == ["d of peer"])
            #expect(server.sendNow("back"))
            #expect(server.counters.sent == 1 && server.counters.received == 45)
            server.disconnect()
            #expect(!server.sendNow("nowhere"))
            stranger.sendNow("e", to: server.localAddress)
            #expect(try await look() == ["e of stranger"])
        }
    }

    @Test(arguments: LoopKind.allCases) func aTakenAddressIsRefusedInWords(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let socket = try loop.bindDatagram(to: loopback)
            let error = #expect(throws: SystemError.self) { _ = try loop.bindDatagram(to: socket.localAddress) }
            #expect(error?.description == "bind \(socket.localAddress): Address already in use")
            socket.close()
            try loop.bindDatagram(to: socket.localAddress).close()
        }
    }

    @Test(arguments: LoopKind.allCases) func aSocketForBothFamiliesShowsPlainAddresses(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let both = try loop.bindDatagram(to: SocketAddress(ip: .any6, port: 0))
            let four = try loop.bindDatagram(to: loopback)
            let six = try loop.bindDatagram(to: SocketAddress(ip: .v6(0, 1), port: 0))
            defer { for socket in [both, four, six] { socket.close() } }
            both.onReceive = { [unowned both] bytes, peer in both.send(bytes, to: peer) }
            for (client, ip) in [(four, IPAddress.loopback4), (six, IPAddress.v6(0, 1))] {
                let answers = Mailbox<SocketAddress>(loop: loop)
                client.onReceive = { answers.send($1) }
                let server = SocketAddress(ip: ip, port: both.localAddress.port)
                client.send("x", to: server)
                #expect(try await answers.next(until: loop.now + .seconds(5)) == server)
            }
            #expect(loop.localAddress(toReach: .loopback4) == .loopback4)
            #expect(loop.localAddress(toReach: .v6(0, 1)) == .v6(0, 1))
        }
    }

    @Test(arguments: LoopKind.allCases) func whatIsTooBigIsDroppedAndCounted(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let socket = try loop.bindDatagram(to: loopback)
            defer { socket.close() }
            var errors = 0
            socket.onError = { error, _ in errors += error.reason == "Message too long" ? 1 : 0 }
            let big = [UInt8](repeating: 0, count: 65_508)
            big.withUnsafeBytes {
                #expect(!socket.sendNow($0, to: socket.localAddress))
                socket.send($0, to: socket.localAddress)
                socket.send(UnsafeRawBufferPointer(rebasing: $0[..<65_507]), to: socket.localAddress)
            }
            let received = Waiter<Int>()
            socket.onReceive = { bytes, _ in received.resume(returning: bytes.count) }
            #expect(try await received.wait() == 65_507)
            #expect(errors == 2 && socket.counters.droppedRefused == 2 && socket.counters.sent == 1)
        }
    }

    @Test(arguments: LoopKind.allCases) func closingInsideAReadIsTheEndOfIt(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let server = try loop.bindDatagram(to: loopback)
            let client = try loop.bindDatagram(to: loopback)
            var received = 0
            server.onReceive = { [unowned server] _, _ in
                received += 1
                server.close()
            }
            for _ in 0..<10 { client.send("x", to: server.localAddress) }
            client.flush()
            try await loop.sleep(for: .milliseconds(5))
            #expect(received == 1 && server.isClosed)
            client.close()
        }
    }

    @Test func anotherLoopSendsThroughASocketUntilItIsClosed() async throws {
        let owner = try EpollLoop(name: "owner")
        let other = try EpollLoop(name: "other")
        try owner.start()
        try other.start()
        let count = 100
        let received: Int = await withCheckedContinuation { continuation in
            owner.execute {
                let receiver = bound(on: owner)
                let socket = bound(on: owner)
                let handle = socket.handle
                let target = receiver.localAddress
                var received = 0
                receiver.onReceive = { _, peer in
                    received += peer == handle.localAddress ? 1 : 0
                    guard received == count else { return }
                    socket.close()
                    receiver.close()
                    other.execute {
                        let sender = handle.sender(on: other)
                        Array("late".utf8).withUnsafeBytes { #expect(!sender.sendNow($0, to: target)) }
                        continuation.resume(returning: count)
                    }
                }
                other.execute {
                    let sender = handle.sender(on: other)
                    Array("hello".utf8).withUnsafeBytes { for _ in 0..<count { sender.send($0, to: target) } }
                }
            }
        }
        #expect(received == count)
        #expect(other.stop() == EpollLoop.Leftovers())
        #expect(owner.stop() == EpollLoop.Leftovers())
    }
}
