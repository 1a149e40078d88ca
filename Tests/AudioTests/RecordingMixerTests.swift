// Both sides on one clock: loss, reordering, duplicates, jumps and clocks that run slow.

import Audio
import Basics
import Testing

@Suite struct RecordingMixerTests {
    private let start = Instant(nanoseconds: 5_000_000_000)

    private func at(_ milliseconds: Int) -> Instant { start + .milliseconds(milliseconds) }

    /// Frame number n holds 160 samples of the value n + 1.
    private func add(_ mixer: inout RecordingMixer, _ number: Int, base: UInt32 = 0, at milliseconds: Int) {
        add(&mixer, .far, number, base: base, at: milliseconds)
    }

    private func add(
        _ mixer: inout RecordingMixer, _ side: RecordingMixer.Side, _ number: Int, base: UInt32, at milliseconds: Int
    ) {
        let samples = [Int16](repeating: Int16(number + 1), count: 160)
        samples.withUnsafeBufferPointer {
            mixer.add(side, timestamp: base &+ UInt32(number * 160), samples: $0, at: at(milliseconds))
        }
    }

    /// The value of each 20 ms; nil where it is not one value.
    private func frames(_ samples: [Int16]) -> [Int16?] {
        stride(from: 0, to: samples.count, by: 160).map { first in
            samples[first..<min(first + 160, samples.count)].allSatisfy { $0 == samples[first] } ? samples[first] : nil
        }
    }

    @Test func lossBecomesSilenceAndTheLengthIsTheCalls() {
        var mixer = RecordingMixer(layout: .far, rate: 8000, start: start)
        var output: [Int16] = []
        for number in 0..<10 where number != 3 && number != 7 {
            add(&mixer, number, base: .max - 500, at: number * 20)
            mixer.drain(at: at(number * 20), into: &output)
        }
        mixer.finish(at: at(300), into: &output)
        #expect(frames(output) == [1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 0, 0, 0, 0, 0])
        #expect(mixer.counts(.far).placed == 8 * 160)
        #expect(mixer.counts(.far).missing == 7 * 160)
    }

    @Test func orderAndDuplicatesDoNotMatterWithinTheWindow() {
        var mixer = RecordingMixer(layout: .far, rate: 8000, start: start)
        var output: [Int16] = []
        for (step, number) in [0, 2, 1, 1, 5, 4, 3, 9, 8, 7, 6, 6].enumerated() {
            add(&mixer, number, at: step * 20)
            mixer.drain(at: at(step * 20), into: &output)
        }
        mixer.finish(at: at(200), into: &output)
        #expect(frames(output) == (1...10).map { Int16($0) })
        #expect(mixer.counts(.far).late == 0 && mixer.counts(.far).restarts == 0)
    }

    @Test func whatIsTooLateIsCountedAndMovesNothing() {
        var mixer = RecordingMixer(layout: .far, rate: 8000, start: start, window: .milliseconds(100))
        var output: [Int16] = []
        for number in 0..<20 where number != 5 {
            add(&mixer, number, at: number * 20)
            if number == 15 { add(&mixer, 5, at: number * 20) }
            mixer.drain(at: at(number * 20), into: &output)
        }
        mixer.finish(at: at(400), into: &output)
        #expect(frames(output) == (0..<20).map { (number: Int) -> Int16 in number == 5 ? 0 : Int16(number + 1) })
        #expect(mixer.counts(.far).late == 160)
    }

    @Test func stereoKeepsTheSidesApartAndMonoAddsThem() {
        for layout in [RecordingMixer.Layout.stereo, .mono] {
            var mixer = RecordingMixer(layout: layout, rate: 8000, start: start)
            var output: [Int16] = []
            for number in 0..<5 { add(&mixer, .far, number, base: 1000, at: number * 20 + 40) }
            for number in 0..<5 { add(&mixer, .near, number, base: 777_777, at: number * 20) }
            mixer.finish(at: at(140), into: &output)
            let far: [Int16] = [0, 0, 1, 2, 3, 4, 5]
            let near: [Int16] = [1, 2, 3, 4, 5, 0, 0]
            if layout == .mono {
                #expect(frames(output) == zip(far, near).map { $0 + $1 })
            } else {
                #expect(frames(stride(from: 0, to: output.count, by: 2).map { output[$0] }) == far)
                #expect(frames(stride(from: 1, to: output.count, by: 2).map { output[$0] }) == near)
            }
        }
    }

    @Test func monoDoesNotOverflow() {
        var mixer = RecordingMixer(layout: .mono, rate: 8000, start: start)
        let loud = [Int16](repeating: 30000, count: 160)
        for side in RecordingMixer.Side.allCases {
            loud.withUnsafeBufferPointer { mixer.add(side, timestamp: 0, samples: $0, at: start) }
        }
        var output: [Int16] = []
        mixer.finish(at: at(20), into: &output)
        #expect(output == [Int16](repeating: 32767, count: 160))
    }

    @Test func aJumpOfTheTimestampIsTiedAnew() {
        var mixer = RecordingMixer(layout: .far, rate: 8000, start: start)
        var output: [Int16] = []
        for number in 0..<5 { add(&mixer, number, at: number * 20) }
        for number in 5..<10 { add(&mixer, number, base: 1_000_000, at: number * 20) }
        mixer.finish(at: at(200), into: &output)
        #expect(frames(output) == (1...10).map { Int16($0) })
        #expect(mixer.counts(.far).restarts == 1)
    }

    @Test func aStoppedClockIsTiedAnewAfterFiveLateFrames() {
        var mixer = RecordingMixer(layout: .far, rate: 8000, start: start, window: .milliseconds(100))
        var output: [Int16] = []
        for number in 0..<5 { add(&mixer, number, at: number * 20) }
        // Half a second without packets, and the timestamps did not go on.
        for number in 5..<20 {
            mixer.drain(at: at(500 + number * 20), into: &output)
            add(&mixer, number, at: 500 + number * 20)
        }
        mixer.finish(at: at(900), into: &output)
        let heard: [Int16] = frames(output).compactMap { $0 }.filter { $0 > 0 }
        let expected: [Int16] = [1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
        #expect(heard == expected)
        #expect(mixer.counts(.far).restarts == 1 && output.count == 7200)
    }

    @Test func pauseIsSilenceAndTheClockGoesOn() {
        var mixer = RecordingMixer(layout: .far, rate: 8000, start: start)
        var output: [Int16] = []
        for number in 0..<9 {
            mixer.isPaused = (3..<6).contains(number)
            add(&mixer, number, at: number * 20)
        }
        mixer.finish(at: at(180), into: &output)
        #expect(frames(output) == [1, 2, 3, 0, 0, 0, 7, 8, 9])
        #expect(mixer.counts(.far).missing == 0)
    }

    /// 10% loss, 100 ms of jitter, 5% duplicates: every frame that came is in its place.
    @Test(arguments: [1, 2, 3] as [UInt64]) func aBadNetwork(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var arrivals: [(time: Int, number: Int)] = []
        for number in 0..<500 {
            if number > 0, random.happens(0.1) { continue }
            let delay = number == 0 ? 0 : Int.random(in: 0...100, using: &random)
            arrivals.append((number * 20 + delay, number))
            if random.happens(0.05) { arrivals.append((number * 20 + delay + 5, number)) }
        }
        arrivals.sort { $0.time < $1.time }
        var mixer = RecordingMixer(layout: .far, rate: 8000, start: start)
        var output: [Int16] = []
        for arrival in arrivals {
            add(&mixer, arrival.number, at: arrival.time)
            mixer.drain(at: at(arrival.time), into: &output)
        }
        mixer.finish(at: at(10_000), into: &output)
        let came = Set(arrivals.map(\.number))
        let expected = (0..<500).map { (number: Int) -> Int16 in came.contains(number) ? Int16(number + 1) : 0 }
        #expect(frames(output) == expected, "seed \(seed)")
    }
}
