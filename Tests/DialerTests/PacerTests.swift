// The pace of calls, in instants alone: rates, ramps, steps, chance, several loops.

import Basics
import Dialer
import Testing

@Suite struct PacerTests {
    /// All arrivals of one loop of a run.
    static func arrivals(
        _ arrivals: Arrivals, share: (index: Int, count: Int) = (0, 1), calls: Int? = nil, until: Double? = nil, seed: UInt64 = 1
    ) -> [Double] {
        var stream = ArrivalStream(arrivals, share: share, calls: calls, until: until, seed: seed)
        var times: [Double] = []
        while let next = stream.next, next < .infinity {
            times.append(next)
            stream.advance()
        }
        return times
    }

    @Test func aConstantRateIsKeptToTheNanosecondOverADay() {
        let profile = RateProfile.constant(333)
        #expect(profile.time(ofCall: 0) == 0)
        #expect(abs(profile.time(ofCall: 333 * 86_400) - 86_400) < 1e-9)
        #expect(Self.arrivals(.rate(profile, poisson: false), until: 10).count == 3330)
        #expect(Self.arrivals(.rate(profile, poisson: false), calls: 7) == (0..<7).map { Double($0) / 333 })
    }

    @Test(arguments: [(10.0, 500.0), (500.0, 10.0), (0.0, 100.0), (100.0, 0.0)])
    func aRampHasItsShape(from: Double, to: Double) {
        let times = Self.arrivals(.rate(.ramp(from: from, to: to, seconds: 30), poisson: false), until: 30)
        #expect(abs(Double(times.count) - (from + to) / 2 * 30) <= 1)
        for second in 0..<30 {
            let middle = from + (to - from) * (Double(second) + 0.5) / 30
            let seen = times.count { $0 >= Double(second) && $0 < Double(second + 1) }
            #expect(abs(Double(seen) - middle) <= max(1, middle * 0.02), "second \(second): \(seen) of \(middle)")
        }
        #expect(times == times.sorted())
    }

    @Test func stepsAndSpikes() {
        let profile = RateProfile.steps([(50, 10), (0, 5), (200, 2), (50, 3)])
        let times = Self.arrivals(.rate(profile, poisson: false))
        #expect(times.count == 500 + 400 + 150)
        #expect(times.count { $0 >= 10 && $0 < 15 } == 0)
        #expect(times.count { $0 >= 15 && $0 < 17 } == 400)
        #expect(profile.rate(at: 16) == 200)
        #expect(profile.rate(at: 21) == 0)
        #expect(profile.peak == 200)
    }

    @Test(arguments: [1, 2, 3, 8]) func theLoopsOfARunShareItsCalls(loops: Int) {
        let whole = Self.arrivals(.rate(.ramp(from: 5, to: 50, seconds: 10), poisson: false), calls: 200, until: 10)
        let parts = (0..<loops).flatMap {
            Self.arrivals(
                .rate(.ramp(from: 5, to: 50, seconds: 10), poisson: false), share: ($0, loops), calls: 200, until: 10)
        }
        #expect(parts.sorted() == whole)
        #expect(whole.count == 200)
    }

    @Test(arguments: [1, 2, 4]) func callersAtRandomKeepTheRate(loops: Int) {
        var times = (0..<loops).flatMap {
            Self.arrivals(.rate(.constant(100), poisson: true), share: ($0, loops), until: 200, seed: 7)
        }
        times.sort()
        // 20,000 expected; the deviation of a Poisson count is its root.
        #expect(abs(times.count - 20_000) < 5 * 142)
        let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
        let mean = gaps.reduce(0, +) / Double(gaps.count)
        let variance = gaps.map { ($0 - mean) * ($0 - mean) }.reduce(0, +) / Double(gaps.count)
        // Exponential: the deviation is the mean.
        #expect(abs(variance.squareRoot() / mean - 1) < 0.05)
        let again = (0..<loops).flatMap {
            Self.arrivals(.rate(.constant(100), poisson: true), share: ($0, loops), until: 200, seed: 7)
        }
        #expect(again.sorted() == times)
    }

    @Test func arrivalsOfARealDay() {
        let times = [0, 0.5, 0.5, 3, 10]
        #expect(Self.arrivals(.times(times)) == times)
        #expect(Self.arrivals(.times(times), share: (1, 2)) == [0.5, 3])
        #expect(Self.arrivals(.times(times), until: 3) == [0, 0.5, 0.5])
    }

    @Test func theRateChangesWhileItRuns() {
        var pacer = Pacer(
            ArrivalStream(.rate(.constant(10), poisson: false), share: (0, 1), calls: nil, until: nil, seed: 1), start: .zero)
        var now = Instant.zero
        func run(seconds: Int64) -> Int {
            let end = now + .seconds(seconds)
            var count = 0
            while let due = pacer.nextDue, due < end {
                now = due
                pacer.take(at: now)
                count += 1
            }
            now = end
            return count
        }
        #expect(run(seconds: 10) == 100)
        pacer.pause(at: now)
        #expect(pacer.nextDue == .never)
        #expect(run(seconds: 10) == 0)
        pacer.scale(by: 5, at: now)
        pacer.resume(at: now)
        #expect(run(seconds: 10) == 500)
        pacer.end()
        #expect(pacer.nextDue == nil)
        #expect(pacer.late == 0)
    }

    /// What comes later in a plan is faster by as much, and keeps its time.
    @Test func whatIsToComeIsFasterToo() {
        var profile = RateProfile.steps([(10, 10), (20, 10), (0, 5), (30, 10)])
        profile.scale(by: 2, at: 5)
        #expect((0..<5).map { profile.rate(at: [2, 7, 15, 22, 30][$0]) } == [10, 20, 40, 0, 60])
        #expect(profile.end == 35)
        #expect(Self.arrivals(.rate(profile, poisson: false)).count == 50 + 100 + 400 + 600)
        var ramp = RateProfile.ramp(from: 0, to: 100, seconds: 10)
        ramp.scale(by: 0.5, at: 5)
        #expect((ramp.rate(at: 2.5), ramp.rate(at: 5), ramp.rate(at: 7.5), ramp.rate(at: 20)) == (25, 25, 37.5, 50))

        var stream = ArrivalStream(.times([0, 4, 8, 12]), share: (0, 1), calls: nil, until: nil, seed: 1)
        stream.advance()
        stream.scale(by: 2, at: 2)
        var times: [Double] = []
        while let next = stream.next {
            times.append(next)
            stream.advance()
        }
        #expect(times == [3, 5, 7])
    }

    /// Rounding between two pieces loses no call, wherever their edge is.
    @Test(arguments: 1...200) func noCallIsLostBetweenPieces(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        func number() -> Double { Double(random.next() % 1000) / 97 }
        let steps = (0..<20).map { _ in (rate: number(), seconds: number() + 0.1) }
        let profile = RateProfile.steps(steps)
        let wanted = profile.calls(by: profile.end)
        let times = Self.arrivals(.rate(profile, poisson: false))
        #expect(times.count == Int(wanted.rounded(.up)))
        #expect(times == times.sorted())
    }

    @Test func lateStartsAreMadeUpForAndCounted() {
        var pacer = Pacer(
            ArrivalStream(.rate(.constant(1000), poisson: false), share: (0, 1), calls: 1000, until: nil, seed: 1), start: .zero)
        // Nothing happens for half a second; then all 500 begin at once.
        let now = Instant.zero + .milliseconds(499)
        var count = 0
        while let due = pacer.nextDue, due <= now {
            pacer.take(at: now)
            count += 1
        }
        #expect(count == 500)
        // Those due up to 10 ms before are in time.
        #expect(pacer.late == 489)
        #expect(abs(pacer.lateness.quantile(0.5) - 249_000) < 2500)
        #expect(pacer.lateness.maximum == 499_000)
    }

    @Test(arguments: [
        ("10s", 10_000.0), ("uniform(5s,15s)", 10_000), ("exponential(10s)", 10_000), ("normal(10s,1s)", 10_000),
        ("lognormal(9,0.5)", 9182.0), ("weibull(10s,1.5)", 9027.5), ("pareto(3,5s)", 7500), ("gpareto(0.1,5s,1s)", 6555.6),
        ("gamma(2,5s)", 10_000), ("negbin(5,0.1)", 45)
    ]) func lengthsOfCallsHaveTheirMean(_ text: String, _ mean: Double) throws {
        let hold = try HoldTime(text)
        var random = SeededRandom(seed: 3)
        let values = (0..<40_000).map { _ in hold.draw(&random).milliseconds }
        #expect(values.allSatisfy { $0 >= 0 })
        let seen = values.reduce(0, +) / Double(values.count)
        #expect(abs(seen / mean - 1) < 0.03, "\(seen) instead of \(mean)")
    }

    /// Zero times infinity is no length.
    @Test(arguments: [
        "gpareto(1000,0s,1s)", "pareto(1e-300,0s)", "weibull(0s,1e-300)", "lognormal(1e308,1e308)", "negbin(1e308,1)"
    ])
    func lengthsWithoutMeasure(_ text: String) throws {
        let hold = try HoldTime(text)
        var random = SeededRandom(seed: 3)
        for _ in 0..<1000 { #expect((.zero ... .seconds(86_400)).contains(hold.draw(&random))) }
    }

    @Test(arguments: ["", "10", "uniform(5s)", "uniform(15s,5s)", "zipf(1)", "negbin(5,2)", "weibull(10s,0)", "normal(a,b)"])
    func otherLengthsAreRefused(_ text: String) {
        #expect(throws: HoldTime.Problem.self) { try HoldTime(text) }
    }
}
