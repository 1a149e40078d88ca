// Load against targets of every kind, in virtual time: what is counted is what happened.

import Basics
import CallEngine
import Dialer
import FlowEngine
import Reactor
import TestKit
import Testing

@Suite struct LoadTests {
    /// Runs a plan against `answering`; the counts, and what is left when all is over.
    static func run(
        _ plan: LoadPlan, seconds: Int = 200, network: ((VirtualNetwork) -> Void)? = nil,
        during: ((LoadDriver, VirtualWorld) -> Void)? = nil, callers: ((inout EngineSettings) -> Void)? = nil,
        answering: @escaping (Call) -> Void
    ) throws -> (driver: LoadDriver, isOver: Bool, left: [String]) {
        let world = VirtualWorld(seed: 9)
        _ = try world.engine(at: "192.0.2.1", onIncoming: answering)
        let engine = try world.engine(at: "192.0.2.2", settings: callers)
        network?(world.network)
        let driver = LoadDriver(plan, shard: engine.shard(0), share: (0, 1), start: world.loop.now) { engine.gate.active }
        var isOver = false
        driver.onEnd = { isOver = true }
        driver.run()
        during?(driver, world)
        world.loop.run(for: .seconds(seconds))
        return (driver, isOver, world.finish())
    }

    static func plan(rate: Double, calls: Int, hold: Double = 1000) -> LoadPlan {
        var plan = LoadPlan(
            request: CallRequest(target: "sip:load@192.0.2.1"),
            source: .arrivals(.rate(.constant(rate), poisson: false)))
        plan.calls = calls
        plan.hold = .fixed(hold)
        return plan
    }

    /// Answers after a while.
    static func answer(_ call: Call, after delay: Duration = .zero) {
        call.loop.spawn {
            do {
                try call.ring()
                try await call.loop.sleep(for: delay)
                try await call.answer()
            } catch {}
        }
    }

    @Test func everyCallOfAGoodTarget() throws {
        let (driver, isOver, left) = try Self.run(Self.plan(rate: 50, calls: 500, hold: 2000)) {
            Self.answer($0, after: .milliseconds(40))
        }
        let statistics = driver.statistics
        #expect(isOver && left == [])
        #expect((statistics.placed, statistics.answered, statistics.failed) == (500, 500, 0))
        #expect(abs(try #require(statistics.rateAchieved) - 50) < 0.05)
        #expect(statistics.bye.count == 500)
        #expect(abs(statistics.answer.quantile(0.5) - 40_000) < 5000)
        // 2.04 s each at 50 a second.
        #expect((101...104).contains(statistics.series.intervals.map(\.peak).max() ?? 0))
        #expect(statistics.series.intervals.map(\.placed).reduce(0, +) == 500)
        #expect(statistics.series.intervals.prefix(10).allSatisfy { $0.placed == 50 })
        #expect(driver.pacer.late == 0)
    }

    @Test func aTargetThatRefusesATenth() throws {
        var count = 0
        let (driver, isOver, left) = try Self.run(Self.plan(rate: 100, calls: 1000)) { call in
            count += 1
            if count % 10 == 0 { try? call.reject(status: 503, reason: nil, headers: []) } else { Self.answer(call) }
        }
        let statistics = driver.statistics
        #expect(isOver && left == [])
        #expect((statistics.placed, statistics.answered, statistics.failed) == (1000, 900, 100))
        #expect(statistics.byStatus == [503: 100])
        #expect(statistics.byCause == [:])
        #expect(statistics.answer.count == 900)
    }

    @Test func aTargetThatIsSilent() throws {
        let (driver, isOver, left) = try Self.run(
            Self.plan(rate: 10, calls: 20), network: { $0.impairment.loss = 1 }, answering: { _ in })
        #expect(isOver && left == [])
        #expect(driver.statistics.failed == 20)
        #expect(driver.statistics.byCause == ["unreachable": 20])
        #expect(driver.statistics.byStatus == [:])
    }

    @Test func aTargetThatOnlyRings() throws {
        var plan = Self.plan(rate: 10, calls: 20)
        plan.answerTimeout = .seconds(5)
        let (driver, isOver, left) = try Self.run(plan) { try? $0.ring() }
        #expect(isOver && left == [])
        #expect((driver.statistics.answered, driver.statistics.failed) == (0, 20))
        #expect(driver.statistics.byCause == ["no-answer": 20])
        #expect(driver.statistics.ringing.count == 20)
    }

    @Test func aTargetThatForgetsItsByes() throws {
        let (driver, isOver, _) = try Self.run(
            Self.plan(rate: 10, calls: 10, hold: 2000),
            during: { _, world in
                // Five calls have ended by then; the BYEs of the others are lost.
                world.loop.schedule(after: .milliseconds(2450)) { world.network.impairment.loss = 1 }
            }, answering: { Self.answer($0) })
        let statistics = driver.statistics
        #expect(isOver)
        #expect((statistics.placed, statistics.answered, statistics.failed) == (10, 10, 5))
        #expect(statistics.byCause == ["bye-timeout": 5])
        #expect(statistics.bye.count == 5)
    }

    @Test func aLimitOfCallsHoldsBackAndForgetsNone() throws {
        var plan = Self.plan(rate: 10, calls: 50, hold: 1000)
        plan.concurrency = 5
        let (driver, isOver, left) = try Self.run(plan) { Self.answer($0) }
        #expect(isOver && left == [])
        #expect(driver.statistics.placed == 50)
        #expect(driver.statistics.series.intervals.map(\.peak).max() == 5)
        #expect(driver.heldBack > 30)
        #expect(driver.pacer.late > 30)
    }

    @Test func usersCallAgainAfterAPause() throws {
        var plan = LoadPlan(
            request: CallRequest(target: "sip:load@192.0.2.1"), source: .users(10, pause: .seconds(1), rate: 10))
        plan.duration = .seconds(20)
        plan.hold = .fixed(1000)
        let (driver, isOver, left) = try Self.run(plan) { Self.answer($0) }
        #expect(isOver && left == [])
        // Ten users, a call every two seconds each; the last come in after a second.
        #expect((95...105).contains(driver.statistics.placed), "\(driver.statistics.placed)")
        #expect(driver.statistics.series.intervals.map(\.peak).max() ?? 0 <= 10)
        #expect(driver.statistics.failed == 0)
    }

    @Test func usersMakeNoMoreCallsThanAllowed() throws {
        var plan = LoadPlan(
            request: CallRequest(target: "sip:load@192.0.2.1"), source: .users(7, pause: .milliseconds(10), rate: 100))
        plan.calls = 40
        plan.hold = .fixed(50)
        let (driver, isOver, left) = try Self.run(plan) { Self.answer($0) }
        #expect(isOver && left == [])
        #expect(driver.statistics.placed == 40)
    }

    @Test func drainingLetsCallsEnd() throws {
        let (driver, isOver, left) = try Self.run(
            Self.plan(rate: 10, calls: 1000, hold: 5000),
            during: { driver, world in
                world.loop.schedule(after: .milliseconds(2050)) { driver.drain() }
            }, answering: { Self.answer($0) })
        #expect(isOver && left == [])
        #expect((driver.statistics.placed, driver.statistics.answered, driver.statistics.failed) == (21, 21, 0))
    }

    @Test func stoppingEndsThemAtOnce() throws {
        let (driver, isOver, left) = try Self.run(
            Self.plan(rate: 10, calls: 1000, hold: 500_000),
            during: { driver, world in
                world.loop.schedule(after: .milliseconds(2050)) { driver.stop() }
            }, answering: { Self.answer($0) })
        #expect(isOver && left == [])
        #expect(driver.statistics.placed == 21)
        #expect(driver.statistics.answered == 21)
    }

    @Test func pausedAndScaledByKeys() throws {
        var plan = Self.plan(rate: 20, calls: 10_000, hold: 0)
        plan.duration = .seconds(30)
        let (driver, _, left) = try Self.run(
            plan,
            during: { driver, world in
                world.loop.schedule(after: .seconds(10)) { driver.pause() }
                world.loop.schedule(after: .seconds(15)) { driver.scale(by: 2) }
                world.loop.schedule(after: .seconds(20)) { driver.pause() }
                world.loop.schedule(after: .seconds(25)) { driver.scale(by: 0.5) }
            }, answering: { Self.answer($0) })
        #expect(left == [])
        let placed = driver.statistics.series.intervals.map(\.placed)
        #expect(abs(placed[0..<10].reduce(0, +) - 200) <= 1)
        #expect(placed[10..<20].reduce(0, +) <= 1)
        #expect(abs(placed[20..<25].reduce(0, +) - 200) <= 1)
        #expect(abs(placed[25..<30].reduce(0, +) - 100) <= 1)
    }

    /// Users wait where they are: those who talk end their calls, and nobody begins another one.
    @Test func usersArePausedToo() throws {
        var plan = LoadPlan(
            request: CallRequest(target: "sip:load@192.0.2.1"), source: .users(5, pause: .milliseconds(100), rate: 100))
        plan.duration = .seconds(30)
        plan.hold = .fixed(100)
        let (driver, isOver, left) = try Self.run(
            plan,
            during: { driver, world in
                world.loop.schedule(after: .seconds(10)) { driver.pause() }
                world.loop.schedule(after: .seconds(20)) { driver.pause() }
            }, answering: { Self.answer($0) })
        #expect(isOver && left == [])
        let placed = driver.statistics.series.intervals.map(\.placed)
        #expect(placed[0..<10].reduce(0, +) > 200)
        #expect(placed[10..<20].reduce(0, +) == 0)
        #expect(placed[20..<30].reduce(0, +) > 200)
    }

    @Test func echoAndOneWay() throws {
        var plan = Self.plan(rate: 10, calls: 10, hold: 2000)
        plan.media = .echo
        var tones = 0
        let (driver, _, left) = try Self.run(plan) { call in
            call.loop.spawn {
                try? await call.answer()
                let listening = call.listen(ListenRequest(tones: [[440]]))
                listening.onEvent = { if case .tone = $0 { tones += 1 } }
                _ = call.play(PlaybackRequest([.tone(frequencies: [440], cadence: [])], loop: .forever))
            }
        }
        #expect(left == [])
        let statistics = driver.statistics
        #expect(statistics.received > 900)
        // Everything that came went back.
        #expect(statistics.sent + 20 >= statistics.received)
        #expect(statistics.oneWay == 0)
        #expect(tones >= 10)
    }

    @Test func aFlowDecidesWhatPassed() throws {
        let text = """
            flow: probe
            direction: outbound
            sections:
              call:
                - answer: { timeout: 20s }
                - expect: { status: 200 }
                - wait: 500ms
                - expect: { digits: "1", within: 2s }
            """
        let loaded = FlowLoader.load(text: text, file: "probe")
        var plan = Self.plan(rate: 10, calls: 20)
        plan.flow = loaded.flow
        #expect(plan.flow != nil, "\(loaded.diagnostics)")
        var count = 0
        let (driver, isOver, left) = try Self.run(plan) { call in
            count += 1
            let presses = count % 4 != 0
            call.loop.spawn {
                try? await call.answer()
                try? await call.loop.sleep(for: .seconds(1))
                if presses { try? await call.sendDigits("1", options: SendDigitsOptions()) }
            }
        }
        #expect(isOver && left == [])
        #expect((driver.statistics.placed, driver.statistics.answered, driver.statistics.failed) == (20, 20, 5))
        #expect(driver.statistics.byCause == ["expectation": 5])
    }
}
