import Basics
import CallEngine
import Testing

@Suite struct AdmissionTests {
    let carrier = IPAddress("192.0.2.1")!
    let other = IPAddress("192.0.2.2")!

    @Test func callsAtATime() {
        var admission = Admission(limits: .init(calls: 2, callsPerSecond: 100))
        #expect(admission.admit(from: carrier, active: 1, at: .zero) == .admitted)
        #expect(admission.admit(from: carrier, active: 2, at: .zero) == .refused(.calls, retryAfter: 5))
    }

    @Test func aBurstOfOneSecondPassesAndThenTheRateHolds() {
        var admission = Admission(limits: .init(calls: 100, callsPerSecond: 10))
        var taken = 0
        for step in 0..<100 where admission.admit(from: carrier, active: 0, at: .zero + .milliseconds(10 * step)) == .admitted {
            taken += 1
        }
        // Ten at the start, and 990 ms refill nine.
        #expect(taken == 19)
    }

    @Test func oneSourceDoesNotStarveTheOthers() {
        var admission = Admission(limits: .init(calls: 100, callsPerSecond: 100, perSource: 2))
        for _ in 0..<2 { #expect(admission.admit(from: carrier, active: 0, at: .zero) == .admitted) }
        #expect(admission.admit(from: carrier, active: 0, at: .zero) == .refused(.perSource, retryAfter: 1))
        #expect(admission.admit(from: other, active: 0, at: .zero) == .admitted)
        #expect(admission.admit(from: carrier, active: 0, at: .zero + .seconds(1)) == .admitted)
    }

    @Test func drainingRefusesEverything() {
        var admission = Admission(limits: .init())
        admission.isDraining = true
        #expect(admission.admit(from: carrier, active: 0, at: .zero) == .refused(.draining, retryAfter: 30))
    }
}
