import Basics
import Reactor
import Testing

@Suite struct TimerTests {
    /// Random timers against a sorted list: the same run in the same order, whatever was cancelled in between.
    @Test(arguments: UInt64(1)...8) func timersRunAsAModelSays(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let loop = VirtualLoop()
        var ran: [Int] = []
        var model: [(deadline: Instant, number: Int)] = []
        var timers: [Int: LoopTimer] = [:]
        for number in 0..<2000 {
            let deadline = Instant(nanoseconds: .random(in: 0..<500, using: &random))
            timers[number] = loop.schedule(at: deadline) { ran.append(number) }
            model.append((deadline, number))
            if random.happens(0.4), let victim = model.indices.randomElement(using: &random) {
                let gone = model.remove(at: victim)
                timers[gone.number]?.cancel()
                timers[gone.number]?.cancel()
                #expect(timers[gone.number]?.isPending == false)
            }
            #expect(loop.pendingTimers == model.count)
        }
        // Half of the time runs; then more are cancelled.
        loop.run(until: Instant(nanoseconds: 250))
        var expected = model.filter { $0.deadline.nanoseconds <= 250 }
        model.removeAll { $0.deadline.nanoseconds <= 250 }
        while model.count > 100 {
            let gone = model.remove(at: .random(in: model.indices, using: &random))
            timers[gone.number]?.cancel()
        }
        expected += model
        loop.run()
        expected.sort { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
        #expect(ran == expected.map(\.number))
        #expect(loop.pendingTimers == 0)
    }

    @Test func aTimerMayMakeAndCancelTimersOfItsOwnInstant() {
        let loop = VirtualLoop()
        var ran: [String] = []
        var victim: LoopTimer?
        loop.schedule(after: .seconds(1)) {
            ran.append("first")
            victim?.cancel()
            loop.schedule(at: loop.now) { ran.append("made") }
        }
        victim = loop.schedule(after: .seconds(1)) { ran.append("cancelled") }
        loop.schedule(after: .seconds(1)) { ran.append("third") }
        loop.run()
        #expect(ran == ["first", "third", "made"])
    }

    @Test(arguments: LoopKind.allCases) func aTimerThatMakesDueTimersStarvesNobody(_ kind: LoopKind) async throws {
        try await kind.run { loop in
            let over = Waiter<Void>()
            var turns = 0
            func again() {
                turns += 1
                if !over.isDone, turns < 1_000_000 { loop.schedule(at: loop.now) { again() } }
            }
            again()
            let socket = try loop.bindDatagram(to: loopback)
            socket.onReceive = { _, _ in over.resume(returning: ()) }
            socket.send("x", to: socket.localAddress)
            try await over.wait()
            socket.close()
            #expect(turns < 1_000_000)
        }
    }
}
