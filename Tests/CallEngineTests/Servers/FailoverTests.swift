// Calls and lines go on to the next server of a domain when one does not answer, cannot be reached or answers 503; other answers are final.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct FailoverTests {
    /// A domain of three servers: 192.0.2.11, .12, .13, in this order.
    static let names = NameLookup { query in
        switch query {
        case .srv("_sip._udp.example.com"):
            NameRecords(
                srv: (1...3).map { SRVRecord(priority: UInt16($0), weight: 0, port: 5060, target: "s\($0).example.com") })
        case .addresses("s1.example.com"): NameRecords(addresses: [IPAddress("192.0.2.11")!])
        case .addresses("s2.example.com"): NameRecords(addresses: [IPAddress("192.0.2.12")!])
        case .addresses("s3.example.com"): NameRecords(addresses: [IPAddress("192.0.2.13")!])
        default: NameRecords()
        }
    }

    /// Servers that answer with a status, or not at all (0); those that are nil are not there.
    final class Town {
        let world: VirtualWorld
        let caller: Engine
        /// The servers that were asked, in order.
        private(set) var asked: [Int] = []
        private var sockets: [DatagramSocket] = []
        private var servers: [Engine] = []
        var statuses: [Int?]

        init(seed: UInt64, _ statuses: [Int?], lines: [LineSettings] = []) throws {
            world = VirtualWorld(seed: seed)
            self.statuses = statuses
            caller = try world.engine(
                at: "192.0.2.1",
                settings: {
                    $0.names = FailoverTests.names
                    $0.lines = lines
                })
            for (index, status) in statuses.enumerated() {
                guard let status else { continue }
                if status == 0 {
                    let socket = try world.loop.bindDatagram(to: SocketAddress("192.0.2.1\(index + 1):5060")!)
                    var seen: Set<[UInt8]> = []
                    socket.onReceive = { [unowned self] bytes, _ in
                        if let message = try? Message(parsing: [UInt8](bytes)), let via = try? message.topVia(),
                            seen.insert(Array(via.branch)).inserted
                        {
                            asked.append(index + 1)
                        }
                    }
                    sockets.append(socket)
                } else {
                    servers.append(
                        try world.engine(at: "192.0.2.1\(index + 1)") { [unowned self] call in
                            asked.append(index + 1)
                            let status = self.statuses[index] ?? 500
                            if status == 200 {
                                call.loop.spawn { try? await call.answer() }
                            } else {
                                try? call.reject(status: status, reason: nil, headers: [])
                            }
                        })
                }
            }
        }

        func call() throws -> Call { try caller.shard(0).place(CallRequest(target: "sip:100@example.com")) }

        func finish() -> [String] {
            for socket in sockets { socket.close() }
            return world.finish()
        }
    }

    @Test(
        arguments: [
            // 503, then one that is there.
            ([503, 200, 200], [1, 2]),
            // One that is silent for 32 seconds, one that is not there, one that answers.
            ([0, nil, 200], [1, 3]),
            ([503, 503, 503], [1, 2, 3]), ([486, 200, 200], [1]), ([603, 200, 200], [1]), ([500, 200, 200], [1]),
            ([404, 200, 200], [1])
        ] as [([Int?], [Int])])
    func goesOnWhereAServerFailsAndStopsAtAnAnswer(statuses: [Int?], asked: [Int]) throws {
        let town = try Town(seed: 1, statuses)
        let call = try town.call()
        town.world.loop.run(for: .seconds(40))
        #expect(town.asked == asked)
        if statuses[asked.last! - 1] == 200 {
            #expect(call.state == .answered)
            call.hangUp(.normal)
        } else {
            #expect(call.state.isEnded && call.info.sipStatus == statuses[asked.last! - 1])
        }
        #expect(town.finish() == [])
    }

    @Test func aServerThatFailedIsTriedLastForAWhile() throws {
        let town = try Town(seed: 2, [503, 200, 200])
        for _ in 0..<3 {
            let call = try town.call()
            town.world.loop.run(for: .seconds(1))
            call.hangUp(.normal)
            town.world.loop.run(for: .seconds(1))
        }
        #expect(town.asked == [1, 2, 2, 2])
        town.statuses[0] = 200
        town.world.loop.run(for: .seconds(40))
        let call = try town.call()
        town.world.loop.run(for: .seconds(1))
        #expect(town.asked.last == 1)
        call.hangUp(.normal)
        #expect(town.finish() == [])
    }

    @Test func hangingUpEndsTheSearch() throws {
        let town = try Town(seed: 3, [0, 200, 200])
        let call = try town.call()
        town.world.loop.run(for: .seconds(5))
        call.hangUp(.normal)
        town.world.loop.run(for: .seconds(60))
        #expect(town.asked == [1])
        #expect(town.finish() == [])
    }

    @Test func aNameThatIsNotThere() throws {
        let town = try Town(seed: 4, [])
        let call = try town.caller.shard(0).place(CallRequest(target: "sip:100@nowhere.example"))
        town.world.loop.run(for: .seconds(1))
        #expect(call.state == .ended(CallEnd(by: .engine, cause: .unreachable, detail: "nowhere.example was not found")))
        #expect(town.finish() == [])
    }

    @Test func aLineRegistersAtTheNextServer() throws {
        let line = LineSettings(
            name: "desk", server: "example.com", username: "desk", password: Secret("p"),
            registration: .init(domain: "example.com"))
        let town = try Town(seed: 5, [nil, 0], lines: [line])
        let registrar = try ScriptedRegistrar(loop: town.world.loop, at: "192.0.2.13:5060")
        town.caller.startLines()
        town.world.loop.run(for: .seconds(40))
        #expect(town.asked == [2])
        #expect(registrar.requests.count == 1)
        #expect(town.caller.lines.statuses.map(\.state) == [.registered])
        // Refreshes stay with the server that works.
        town.world.loop.run(for: .seconds(600))
        #expect(town.asked == [2] && registrar.requests.count >= 3)
        town.caller.stopLines()
        town.world.loop.run(for: .seconds(1))
        registrar.close()
        #expect(town.finish() == [])
    }

    @Test func aWatchedTrunk() throws {
        let line = {
            var line = LineSettings(name: "trunk", server: "example.com")
            line.monitor = .seconds(30)
            return line
        }()
        let town = try Town(seed: 6, [nil, nil, 200], lines: [line])
        town.caller.startLines()
        town.world.loop.run(for: .seconds(5))
        #expect(town.caller.lines.statuses.map(\.state) == [.available])
        // What is known to be away is not tried first by the call.
        let call = try town.caller.shard(0).place(CallRequest(target: "100", line: "trunk"))
        town.world.loop.run(for: .milliseconds(100))
        #expect(call.state == .answered)
        call.hangUp(.normal)
        town.world.loop.run(for: .seconds(300))
        #expect(town.caller.lines.statuses[0].successes >= 9)
        town.caller.stopLines()
        #expect(town.finish() == [])

        let lonely = try Town(seed: 7, [nil, nil, nil], lines: [line])
        lonely.caller.startLines()
        lonely.world.loop.run(for: .seconds(5))
        #expect(lonely.caller.lines.statuses.map(\.state) == [.unavailable])
        #expect(lonely.caller.lines.statuses[0].detail.contains("could not be reached"))
        lonely.caller.stopLines()
        #expect(lonely.finish() == [])
    }
}
