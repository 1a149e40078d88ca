// Faults planted in the target and in this side: the report names the true culprit, and nobody else.

import Basics
import CallEngine
import Dialer
import FlowEngine
import Reactor
import TestKit
import Testing

/// A fault, how it is planted, and what the report has to say.
struct PlantedFault: Sendable, CustomTestStringConvertible {
    let name: String
    let finds: LoadFinding.Side
    let what: Set<String>
    var plan: @Sendable (inout LoadPlan) throws -> Void = { _ in }
    var callers: @Sendable (inout EngineSettings) -> Void = { _ in }
    var target: @Sendable (inout EngineSettings) -> Void = { _ in }
    var network: @Sendable (VirtualNetwork) -> Void = { _ in }
    /// At so many seconds.
    var later: (at: Double, change: @Sendable (VirtualNetwork) -> Void)?
    /// How long before now the run should have begun.
    var late = Duration.zero
    /// What only a kernel counts.
    var health: @Sendable (inout GeneratorHealth) -> Void = { _ in }
    /// What becomes of the call with this number, from 1.
    var call: @Sendable (Call, Int) -> Void = { call, _ in LoadTests.answer(call) }

    var testDescription: String { name }

    init(_ name: String, _ finds: LoadFinding.Side, _ what: Set<String>) {
        (self.name, self.finds, self.what) = (name, finds, what)
    }

    func with(_ change: (inout PlantedFault) -> Void) -> PlantedFault {
        var fault = self
        change(&fault)
        return fault
    }
}

@Suite struct PlantedFaultTests {
    static let flow = """
        flow: probe
        direction: outbound
        sections:
          call:
            - answer: { timeout: 20s }
            - expect: { digits: "1", within: 3s }
        """

    static func useFlow(_ plan: inout LoadPlan, _ text: String = flow) throws {
        plan.flow = FlowLoader.load(text: text, file: "probe").flow
        try #require(plan.flow != nil)
    }

    static func report(_ fault: PlantedFault) throws -> LoadReport {
        let world = VirtualWorld(seed: 3)
        var count = 0
        let answer: (Call) -> Void = { call in
            count += 1
            fault.call(call, count)
        }
        _ = try world.engine(at: "192.0.2.1", settings: fault.target, onIncoming: answer)
        let engine = try world.engine(at: "192.0.2.2", settings: fault.callers)
        fault.network(world.network)
        if let later = fault.later {
            world.loop.schedule(after: .nanoseconds(Int64(later.at * 1e9))) { later.change(world.network) }
        }
        var plan = LoadTests.plan(rate: 20, calls: 60, hold: 2000)
        try fault.plan(&plan)
        let marks = LoadMarks(engine)
        let start = world.loop.now - fault.late
        let driver = LoadDriver(plan, shard: engine.shard(0), share: (0, 1), start: start) { engine.gate.active }
        var isOver = false
        driver.onEnd = { isOver = true }
        driver.run()
        world.loop.run(for: .seconds(200))
        #expect(isOver)
        var health = GeneratorHealth()
        health.seconds = 10
        var report = LoadReport(
            health: health, elapsed: .seconds(10), plannedCalls: plan.plannedCalls, plannedRate: plan.plannedRate)
        report.add(driver.share())
        marks.complete(&report, engine)
        fault.health(&report.health)
        _ = world.finish()
        return report
    }

    @Test(arguments: TargetFaults.all + OwnFaults.all) func theTrueCulpritIsNamed(_ fault: PlantedFault) throws {
        let report = try Self.report(fault)
        #expect(Set(report.findings.map(\.what)) == fault.what, "\(report.findings)\n\(report.summary)")
        #expect(report.findings.allSatisfy { $0.by == fault.finds }, "\(report.findings)")
        #expect(!report.findings.isEmpty)
        for finding in report.findings { #expect(report.json.text.contains("\"what\":\"\(finding.what)\"")) }
    }

    @Test func thereAreFortyHalfOfThemOurs() {
        #expect((TargetFaults.all.count, OwnFaults.all.count) == (20, 20))
        #expect(Set((TargetFaults.all + OwnFaults.all).map(\.name)).count == 40)
    }

    @Test(arguments: [LoadPlan.Media.none, .echo, .play(.tone(frequencies: [440], cadence: []))])
    func whereNothingIsWrongNobodyIsBlamed(_ media: LoadPlan.Media) throws {
        let report = try Self.report(PlantedFault("none", .target, []).with { $0.plan = { $0.media = media } })
        #expect(report.findings == [] && report.statistics.placed == 60 && report.statistics.failed == 0)
    }
}

/// Of the target, or of the network between.
enum TargetFaults {
    static func refusing(_ status: Int, _ name: String, oneOf share: Int = 1) -> PlantedFault {
        PlantedFault(name, .target, ["\(status)"]).with {
            $0.call = { call, number in
                if number % share == 0 {
                    try? call.reject(status: status, reason: nil, headers: [])
                } else {
                    LoadTests.answer(call)
                }
            }
        }
    }

    static let play: @Sendable (inout LoadPlan) -> Void = { $0.media = .play(.tone(frequencies: [440], cadence: [])) }

    /// Answers and presses these keys.
    static func pressing(_ digits: String?, after delay: Duration) -> @Sendable (Call, Int) -> Void {
        { call, _ in
            call.loop.spawn {
                try? await call.answer()
                guard let digits else { return }
                try? await call.loop.sleep(for: delay)
                try? await call.sendDigits(digits, options: SendDigitsOptions())
            }
        }
    }

    static let signaling = [
        refusing(503, "503 to each fifth", oneOf: 5), refusing(500, "500 to each second", oneOf: 2), refusing(486, "always busy"),
        refusing(404, "unknown number"), refusing(603, "declines", oneOf: 3),
        refusing(408, "a proxy without its server", oneOf: 4),
        PlantedFault("says nothing at all", .target, ["unreachable", "slow-to-react"]).with {
            $0.network = { $0.impairment.loss = 1 }
        },
        PlantedFault("rings and never answers", .target, ["no-answer"]).with {
            $0.plan = { $0.answerTimeout = .seconds(5) }
            $0.call = { call, _ in try? call.ring() }
        },
        PlantedFault("slow answers", .target, ["slow-answers"]).with {
            $0.call = { call, _ in LoadTests.answer(call, after: .seconds(6)) }
        },
        PlantedFault("goes away in the middle", .target, ["unreachable", "bye-timeout", "slow-to-react"]).with {
            $0.later = (1.5, { $0.partition(IPAddress("192.0.2.1")!) })
        },
        PlantedFault("loses BYEs", .target, ["bye-timeout", "slow-to-react"]).with {
            $0.plan = { $0.hold = .fixed(4000) }
            $0.later = (3.5, { $0.impairment.loss = 1 })
        },
        PlantedFault("packets are lost on the way", .target, ["slow-to-react", "lost-audio"]).with {
            $0.network = { $0.impairment.loss = 0.05 }
        }
    ]

    static let media = [
        PlantedFault("silence", .target, ["no-audio"]).with {
            $0.plan = play
            $0.target = { $0.sendsSilence = false }
        },
        PlantedFault("audio in one call of three", .target, ["no-audio"]).with {
            $0.plan = play
            $0.target = { $0.sendsSilence = false }
            $0.call = { call, number in
                call.loop.spawn {
                    try? await call.answer()
                    if number % 3 == 0 { call.startEcho() }
                }
            }
        },
        PlantedFault("a network that is late and uneven", .target, ["uneven-audio", "lost-audio", "slow-to-react"]).with {
            $0.plan = play
            $0.network = {
                $0.impairment.jitter = .milliseconds(300)
                $0.impairment.reordering = 0.3
                $0.impairment.reorderingDelay = .milliseconds(200)
            }
        },
        PlantedFault("no codec in common", .target, ["488"]).with {
            $0.callers = { $0.codecs = ["pcma"] }
            $0.target = { $0.codecs = ["g722"] }
        },
        PlantedFault("no audio until this side gives up", .target, ["media-timeout", "no-audio"]).with {
            $0.plan = { $0.hold = .fixed(30_000) }
            $0.target = { $0.sendsSilence = false }
            $0.callers = { $0.rtpTimeout = .seconds(5) }
        }
    ]

    static let flows = [
        PlantedFault("keys that do not come", .target, ["expectation"]).with {
            $0.plan = { try PlantedFaultTests.useFlow(&$0) }
            $0.call = pressing(nil, after: .zero)
        },
        PlantedFault("wrong keys", .target, ["expectation"]).with {
            $0.plan = { try PlantedFaultTests.useFlow(&$0) }
            $0.call = pressing("2", after: .seconds(1))
        },
        PlantedFault("keys that come too late", .target, ["expectation"]).with {
            $0.plan = { try PlantedFaultTests.useFlow(&$0) }
            $0.call = pressing("1", after: .seconds(8))
        }
    ]

    static let all = signaling + media + flows
}

/// Of this side, some beside a target that is bad as well: what this side spoiled says nothing about it.
enum OwnFaults {
    static let badTarget = TargetFaults.refusing(503, "", oneOf: 2).call

    static func counted(_ name: String, _ what: String, _ change: @escaping @Sendable (inout GeneratorHealth) -> Void)
        -> PlantedFault
    {
        PlantedFault(name, .thisMachine, [what]).with { $0.health = change }
    }

    static let real = [
        PlantedFault("ports used up", .thisMachine, ["ports", "error"]).with { $0.callers = { $0.rtpPorts = 20000...20019 } },
        PlantedFault("ports used up, beside 503s", .thisMachine, ["ports", "error"]).with {
            $0.callers = { $0.rtpPorts = 20000...20009 }
            $0.call = badTarget
        },
        PlantedFault("too few calls at a time", .thisMachine, ["concurrency"]).with { $0.plan = { $0.concurrency = 10 } },
        PlantedFault("too few calls at a time, beside slow answers", .thisMachine, ["concurrency"]).with {
            $0.plan = { $0.concurrency = 10 }
            $0.call = { call, _ in LoadTests.answer(call, after: .seconds(6)) }
        },
        PlantedFault("began late", .thisMachine, ["late-timers"]).with { $0.late = .seconds(1) },
        PlantedFault("began late, beside 503s", .thisMachine, ["late-timers"]).with {
            $0.late = .milliseconds(300)
            $0.call = badTarget
        },
        PlantedFault("a target that cannot be read", .thisMachine, ["error"]).with {
            $0.plan = { $0.request = CallRequest(target: "sip:load@192.0.2.1", line: "not there") }
        },
        PlantedFault("own limit of calls", .thisMachine, ["error"]).with { $0.callers = { $0.limits.calls = 10 } },
        wrongAddress("a wrong local address"),
        wrongAddress("a wrong local address, beside 503s").with { $0.call = badTarget }
    ]

    /// A target that sends audio where it is told to, and not where it hears some from: it hears none.
    static func wrongAddress(_ name: String) -> PlantedFault {
        PlantedFault(name, .thisMachine, ["address"]).with {
            $0.plan = TargetFaults.play
            $0.callers = { $0.external = IPAddress("192.0.2.77") }
            $0.network = { network in
                var lost = VirtualNetwork.Impairment()
                lost.loss = 1
                network.impair(from: SocketAddress(ip: IPAddress("192.0.2.2")!, port: 0), lost)
                network.impair(from: SocketAddress(ip: IPAddress("192.0.2.2")!, port: 5060), VirtualNetwork.Impairment())
            }
        }
    }

    static let countedByTheKernel = [
        counted("a full socket", "queues") { $0.dropped += 7 },
        counted("no processor", "cpu") { $0.starvedSeconds = 3 }, counted("all of a processor", "cpu") { $0.busySeconds = 5 },
        counted("no processor, beside 503s", "cpu") { $0.starvedSeconds = 9 }.with { $0.call = badTarget },
        counted("a full queue, beside 503s", "queues") { $0.dropped += 1 }.with { $0.call = badTarget },
        counted("another worker died", "lost-worker") { $0.lostWorkers = 1 },
        counted("no descriptors", "descriptors") { ($0.portRefusals, $0.lackedDescriptors) = (4, 4) },
        counted("audio sent late", "late-timers") { ($0.slices, $0.lateSlices) = (1000, 20) },
        counted("audio left out, beside 503s", "late-timers") { $0.skippedTicks = 3 }.with { $0.call = badTarget },
        counted("packets that this side did not send, beside a silent target", "sending") { $0.sendFailures = 40 }.with {
            $0.plan = TargetFaults.play
            $0.target = { $0.sendsSilence = false }
        }
    ]

    static let all = real + countedByTheKernel
}
