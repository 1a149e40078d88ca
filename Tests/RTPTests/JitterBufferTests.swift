// The jitter buffer: order, loss, late packets, growing delay, wrap-around of numbers and timestamps, odd packet times.

import Basics
import RTP
import Testing

@Suite struct JitterBufferTests {
    /// A stream whose packets carry their number; 8000 Hz.
    private final class Stream {
        let buffer = JitterBuffer(clockRate: 8000)
        let span: Int
        let first: UInt16
        let start: UInt32
        /// What came out: numbers of packets, nil for each gap.
        var heard: [UInt16?] = []
        var recoverable: [UInt16] = []
        var madeUp = 0
        private var left = 0

        init(span: Int = 160, first: UInt16 = 100, start: UInt32 = 5000) {
            (self.span, self.first, self.start) = (span, first, start)
        }

        func put(_ index: Int) {
            let sequence = first &+ UInt16(truncatingIfNeeded: index)
            withUnsafeBytes(of: sequence) {
                buffer.put(
                    $0, payloadType: 0, sequence: sequence, timestamp: start &+ UInt32(truncatingIfNeeded: index * span),
                    span: span)
            }
        }

        /// A tick of 20 ms.
        func tick() {
            var isOver = false
            while left < 160, !isOver {
                buffer.take { step in
                    switch step {
                    case .packet(let payload, _, let missing):
                        heard.append(payload.loadUnaligned(as: UInt16.self))
                        left += span + max(0, missing)
                        madeUp += max(0, missing)
                    case .gap(let length, let next):
                        heard.append(nil)
                        if let next { recoverable.append(next.loadUnaligned(as: UInt16.self)) }
                        left += length
                        madeUp += length
                    case .nothing: isOver = true
                    }
                }
            }
            if !isOver { left -= 160 }
            buffer.tick(left: left)
        }

        var numbers: [UInt16] { heard.compactMap { $0 } }
    }

    @Test(arguments: [80, 160, 240, 320, 480]) func aCleanStreamComesOutAtOnce(span: Int) {
        let stream = Stream(span: span)
        var sent = 0
        for tick in 0..<100 {
            while sent * span <= tick * 160 {
                stream.put(sent)
                sent += 1
            }
            stream.tick()
        }
        // The second packet may be late where a tick needs more than the first.
        let numbers = stream.numbers.filter { $0 > 101 }
        let wanted: [UInt16] = Array(102..<102 + UInt16(numbers.count))
        #expect(numbers == wanted && stream.numbers.first == 100)
        // All but what lies in the buffer or the hand: no more than a packet of delay.
        #expect(stream.numbers.count >= sent - 2 && stream.madeUp <= 2 * span, "\(stream.madeUp)")
    }

    @Test func numbersAndTimestampsWrap() {
        let stream = Stream(first: 65_530, start: UInt32.max - 1000)
        for index in 0..<200 {
            stream.put(index)
            stream.tick()
        }
        let wanted = (0..<200).map { UInt16(truncatingIfNeeded: 65_530 + $0) }
        #expect(stream.numbers == wanted)
    }

    @Test func oneLostPacketIsOneGapAndTheNextIsThere() {
        let stream = Stream()
        // Two packets ahead, as after a jitter of 40 ms.
        for index in 0..<2 { stream.put(index) }
        for index in 2..<60 {
            if index != 30 { stream.put(index) }
            stream.tick()
        }
        #expect(stream.heard.prefix(40).filter { $0 == nil }.count == 1)
        #expect(stream.recoverable == [131])
        // Later it takes the needless delay out.
        let wanted: [UInt16] = Array(100...129) + Array(131...139)
        #expect(Array(stream.numbers.prefix(39)) == wanted)
    }

    @Test func orderIsRestoredOnceThereIsDelay() {
        let stream = Stream()
        var random = SeededRandom(seed: 5)
        var arrivals: [(at: Double, index: Int)] = (0..<1500).map {
            (Double($0) * 20 + Double(random.next() % 60), $0)
        }
        arrivals.sort { $0.at < $1.at }
        var position = 0
        for tick in 0..<1500 {
            while position < arrivals.count, arrivals[position].at < Double(tick) * 20 {
                stream.put(arrivals[position].index)
                position += 1
            }
            stream.tick()
        }
        let numbers = stream.numbers
        let steps = zip(numbers, numbers.dropFirst()).map { Int16(bitPattern: $1 &- $0) }
        #expect(steps.allSatisfy { $0 > 0 })
        // It has learned the jitter: of the last 1000 packets nearly none came too late.
        #expect(numbers.filter { $0 >= 600 && $0 < 1500 }.count > 880, "\(numbers.count)")
    }

    @Test func aPauseOfTheSenderIsAGapAndNotTheEnd() {
        let stream = Stream()
        for index in 0..<50 {
            stream.put(index)
            stream.tick()
        }
        for _ in 50..<200 { stream.tick() }
        let before = stream.numbers.count
        for index in 200..<300 {
            stream.put(index)
            stream.tick()
        }
        #expect(stream.numbers.count - before > 90, "\(stream.numbers.count - before)")
    }

    @Test func anotherStreamAfterAReset() {
        let stream = Stream()
        for index in 0..<50 {
            stream.put(index)
            stream.tick()
        }
        stream.buffer.reset()
        let other = 9_000_000
        for index in 0..<50 {
            withUnsafeBytes(of: UInt16(7)) {
                stream.buffer.put($0, payloadType: 8, sequence: UInt16(index), timestamp: UInt32(other + index * 160), span: 160)
            }
            stream.tick()
        }
        #expect(stream.numbers.suffix(45).allSatisfy { $0 == 7 })
    }

    /// speexdsp would fill the log of a server whose callers send packets of mixed lengths. In a process of its own, since standard error is
    /// the process's.
    @Test func packetsOfMixedLengthsCauseNoComplaint() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let buffer = JitterBuffer(clockRate: 8000)
            var random = SeededRandom(seed: 5)
            var timestamp: UInt32 = 0
            var (left, heard) = (0, 0)
            for number in 0..<500 as Range<UInt16> {
                let span = Int.random(in: 1...40, using: &random) * 8
                if Bool.random(using: &random) {
                    [0].withUnsafeBytes {
                        buffer.put($0, payloadType: 0, sequence: number, timestamp: timestamp, span: span)
                    }
                }
                timestamp &+= UInt32(span)
                var isOver = false
                while left < 160, !isOver {
                    buffer.take { step in
                        switch step {
                        case .packet(_, _, let missing):
                            heard += 1
                            left += span + missing
                        case .gap(let length, _): left += length
                        case .nothing: isOver = true
                        }
                    }
                }
                left = max(0, left - 160)
                buffer.tick(left: left)
            }
            #expect(heard > 50)
        }
        let complaints = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(!complaints.contains("jitter"), "\(complaints.prefix(300))")
    }
}
