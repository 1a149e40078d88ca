import Basics
import RTP
import Testing

/// A packet on its way.
struct EventPacket {
    var at: Int
    var sequence: UInt16
    var timestamp: UInt32
    var code: UInt8
    var isEnd = false
    var duration: UInt16
    var marker = false
}

/// What was told: `5+` began, `5-` ended.
func told(_ events: some Sequence<TelephoneEvent>) -> [String] {
    events.map { "\($0.code)" + ($0.phase == .began ? "+" : "-") }
}

/// Runs packets through a receiver in their order of arrival, with its deadlines, to the end.
func receive(_ packets: [EventPacket], clockRate: UInt32 = 8000) -> [TelephoneEvent] {
    var receiver = TelephoneEventReceiver(clockRate: clockRate)
    var events: [TelephoneEvent] = []
    for packet in packets.enumerated().sorted(by: { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }).map(\.element) {
        let now = Instant.zero + .milliseconds(packet.at)
        if let deadline = receiver.deadline, deadline <= now { events += [receiver.expire(at: deadline)].compactMap { $0 } }
        var bytes = [UInt8](repeating: 0, count: 4)
        bytes.withUnsafeMutableBytes {
            TelephoneEventPayload(code: packet.code, isEnd: packet.isEnd, duration: packet.duration).write(to: $0)
        }
        events += bytes.withUnsafeBytes { receiver.receive($0, sequence: packet.sequence, timestamp: packet.timestamp, at: now) }
    }
    if let deadline = receiver.deadline { events += [receiver.expire(at: deadline)].compactMap { $0 } }
    return events
}

/// The packets of digits as our sender makes them, a tick each 20 ms; `audioInGaps` takes up sequence numbers as audio does.
func send(
    _ codes: [UInt8], ticks: Int = 5, gapTicks: Int = 4, units: UInt32 = 160, audioInGaps: Bool = false,
    sequence: UInt16 = 65_530,
    timestamp: UInt32 = UInt32.max - 1000
) -> [EventPacket] {
    let sender = TelephoneEventSender(unitsPerTick: units)
    var packets: [EventPacket] = []
    var sequence = sequence
    var timestamp = timestamp
    var waiting = codes[...]
    var tick = 0
    while !waiting.isEmpty || !sender.isIdle {
        if sender.isIdle, let code = waiting.popFirst() {
            sender.start(code: code, duration: units * UInt32(ticks), gap: units * UInt32(gapTicks))
        }
        if let packet = sender.next(timestamp: timestamp) {
            packets.append(
                EventPacket(
                    at: 20 * tick, sequence: sequence, timestamp: packet.timestamp, code: packet.payload.code,
                    isEnd: packet.payload.isEnd, duration: packet.payload.duration, marker: packet.marker))
            sequence &+= 1
        } else if audioInGaps {
            sequence &+= 1
        }
        timestamp &+= units
        tick += 1
    }
    return packets
}

@Suite struct TelephoneEventSenderTests {
    /// B034, B036, B031a.
    @Test func packetsOfTwoDigits() {
        let packets = send([1, 2], ticks: 4, timestamp: 1000)
        #expect(packets.map(\.code) == [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2])
        #expect(packets.map(\.marker) == [true, false, false, false, false, false, true, false, false, false, false, false])
        #expect(packets.map(\.duration) == [160, 320, 480, 640, 640, 640, 160, 320, 480, 640, 640, 640])
        #expect(packets.map(\.isEnd) == [false, false, false, true, true, true, false, false, false, true, true, true])
        #expect(packets.map(\.timestamp) == [UInt32](repeating: 1000, count: 6) + [UInt32](repeating: 1000 + 8 * 160, count: 6))
        #expect(packets.map(\.at) == [0, 20, 40, 60, 80, 100, 160, 180, 200, 220, 240, 260])
    }

    @Test func aLongPressGoesOnInSegments() {
        let packets = send([5], ticks: 1000, timestamp: 0)
        #expect(packets.filter(\.marker).count == 1 && packets.filter(\.isEnd).count == 3)
        #expect(Array(Set(packets.map(\.timestamp))).sorted() == [0, 65_440, 130_880])
        #expect(packets.last.map { $0.timestamp + UInt32($0.duration) } == 160_000)
        #expect(told(receive(packets)) == ["5+", "5-"])
        #expect(receive(packets).last?.duration == 160_000)
    }

    @Test func aPressCanBeReleased() {
        let sender = TelephoneEventSender(unitsPerTick: 160)
        #expect(sender.isIdle && sender.next(timestamp: 0) == nil)
        sender.start(code: 3, duration: .max / 2, gap: 0)
        for tick in 0..<10 { #expect(sender.next(timestamp: UInt32(tick) * 160)?.payload.isEnd == false) }
        sender.release()
        #expect(sender.next(timestamp: 1600)?.payload == TelephoneEventPayload(code: 3, isEnd: true, duration: 1760))
        #expect(!sender.isPressing && !sender.isIdle)
        #expect(sender.next(timestamp: 1760)?.timestamp == 0)
        #expect(sender.next(timestamp: 1920)?.payload.isEnd == true)
        #expect(sender.isIdle)
    }
}

@Suite struct TelephoneEventReceiverTests {
    @Test func aCleanDigitIsToldOnce() {
        let events = receive(send([7]))
        #expect(told(events) == ["7+", "7-"] && events[1].duration == 800)
    }

    @Test func theSameDigitThreeTimesIsThree() {
        #expect(told(receive(send([0, 0, 0]))) == ["0+", "0-", "0+", "0-", "0+", "0-"])
        #expect(told(receive(send([0, 0, 0], ticks: 2, gapTicks: 2))) == ["0+", "0-", "0+", "0-", "0+", "0-"])
    }

    /// Whatever is lost of the middle digit of three equal ones: one packet is enough, none tells none.
    @Test(arguments: [false, true]) func everyLossPattern(audioInGaps: Bool) {
        let packets = send([4, 4, 4], ticks: 5, audioInGaps: audioInGaps)
        let size = packets.count / 3
        for kept in 0..<(1 << size) {
            let left = packets.enumerated().filter { index, _ in index / size != 1 || kept >> (index % size) & 1 == 1 }.map(
                \.element)
            let count = kept == 0 ? 2 : 3
            let events = told(receive(left))
            #expect(events == [[String]](repeating: ["4+", "4-"], count: count).flatMap { $0 }, "kept \(kept)")
        }
        // And of the first one, with nothing before it.
        for kept in 1..<(1 << size) {
            let left = packets.prefix(size).enumerated().filter { kept >> $0.offset & 1 == 1 }.map(\.element)
            #expect(told(receive(left)) == ["4+", "4-"], "kept \(kept)")
        }
    }

    /// Loss, 200 ms of jitter with reordering, and duplicates, at each clock: each digit of which a packet came is told once.
    @Test(arguments: 1...20, [UInt32(160), 320, 960]) func impairedDigits(seed: Int, units: UInt32) {
        var random = SeededRandom(seed: UInt64(seed))
        let codes = (0..<60).map { _ in UInt8.random(in: 0...15, using: &random) }
        let packets = send(
            codes, ticks: .random(in: 3...12, using: &random), gapTicks: .random(in: 2...8, using: &random), units: units,
            audioInGaps: .random(using: &random), sequence: .random(in: 0...65_535, using: &random),
            timestamp: .random(in: 0...UInt32.max, using: &random))
        let loss = Double.random(in: 0...0.6, using: &random)
        var arrived: [EventPacket] = []
        for var packet in packets where !random.happens(loss) {
            let at = packet.at
            for _ in 0..<(random.happens(0.1) ? 2 : 1) {
                packet.at = at + Int.random(in: 0..<200, using: &random)
                arrived.append(packet)
            }
        }
        var expected: [UInt32: UInt8] = [:]
        for packet in arrived { expected[packet.timestamp] = packet.code }
        let events = receive(arrived, clockRate: units * 50)
        let hint: Comment = "seed \(seed), units \(units)"
        #expect(events.filter { $0.phase == .began }.map(\.code).sorted() == expected.values.sorted(), hint)
        #expect(events.filter { $0.phase == .ended }.map(\.code).sorted() == expected.values.sorted(), hint)
    }

    @Test func aLostEndEndsByTime() {
        var receiver = TelephoneEventReceiver(clockRate: 8000)
        let bytes: [UInt8] = [1, 10, 0, 160]
        let first = bytes.withUnsafeBytes { receiver.receive($0, sequence: 1, timestamp: 5, at: .zero) }
        #expect(told(first) == ["1+"])
        #expect(receiver.deadline == .zero + .milliseconds(60))
        #expect(receiver.expire(at: .zero + .milliseconds(59)) == nil)
        #expect(receiver.expire(at: .zero + .milliseconds(60)) == TelephoneEvent(code: 1, phase: .ended, duration: 160))
        #expect(receiver.deadline == nil && receiver.expire(at: .never) == nil)
        #expect(receiver.reset() == nil)
    }

    /// Senders that tell of a press every 50 to 160 ms: a packet that is lost does not end it.
    @Test(arguments: [(50, 1), (60, 1), (160, 1)]) func aPressThatIsToldSeldom(milliseconds: Int, lost: Int) {
        let count = 2000 / milliseconds
        let packets = (1...count).filter { !(5..<5 + lost).contains($0) }.map { number in
            EventPacket(
                at: milliseconds * number, sequence: UInt16(number), timestamp: 8000, code: 3, isEnd: number == count,
                duration: UInt16(8 * milliseconds * number))
        }
        let events = receive(packets)
        #expect(told(events) == ["3+", "3-"])
        #expect(events.last?.duration == UInt32(8 * milliseconds * count))
    }

    /// A sender whose timestamp stands still while a key is down: the next press begins within the time of the one before.
    @Test func aTimestampThatStandsStillWhileAKeyIsDown() {
        var packets: [EventPacket] = []
        for (press, start) in [(0, 8000), (1, 8800)] as [(Int, UInt32)] {
            for tick in 1...20 {
                packets.append(
                    EventPacket(
                        at: press * 560 + tick * 20, sequence: UInt16(press * 30 + tick), timestamp: start, code: 5,
                        isEnd: tick >= 18, duration: UInt16(min(tick, 18) * 160)))
            }
        }
        #expect(told(receive(packets)) == ["5+", "5-", "5+", "5-"])
    }

    @Test func aResetEndsWhatIsOpen() {
        var receiver = TelephoneEventReceiver(clockRate: 8000)
        let bytes: [UInt8] = [1, 10, 0, 160]
        _ = bytes.withUnsafeBytes { receiver.receive($0, sequence: 1, timestamp: 5, at: .zero) }
        #expect(receiver.reset()?.phase == .ended)
        // The same timestamp of another stream is another press.
        #expect(told(bytes.withUnsafeBytes { receiver.receive($0, sequence: 1, timestamp: 5, at: .zero) }) == ["1+"])
    }

    @Test(arguments: [[17, 0, 0, 0], [255, 0x80, 0, 0], [1, 0, 0], []] as [[UInt8]]) func otherPayloadsAreIgnored(bytes: [UInt8])
    {
        var receiver = TelephoneEventReceiver(clockRate: 8000)
        #expect(bytes.withUnsafeBytes { receiver.receive($0, sequence: 1, timestamp: 1, at: .zero) }.isEmpty)
        #expect(receiver.ignoredCount == 1 && receiver.deadline == nil)
    }

    /// The stream of a well-known load generator: duration from 0, three ends under one sequence number.
    @Test func endsUnderOneSequenceNumber() {
        var packets = (0..<7).map {
            EventPacket(at: 20 * $0, sequence: UInt16(7984 + $0), timestamp: 13_280, code: 1, duration: UInt16(320 * $0))
        }
        for index in 7..<10 {
            packets.append(EventPacket(at: 20 * index, sequence: 7991, timestamp: 13_280, code: 1, isEnd: true, duration: 2240))
        }
        #expect(told(receive(packets)) == ["1+", "1-"])
    }

    /// B031: new timestamps on the end packets, within the press or running on behind it.
    @Test(arguments: [(1, 2), (160, 320), (1599, 1600), (1600, 1760), (1760, 1920), (3000, 4000)])
    func endsUnderNewTimestamps(first: UInt32, second: UInt32) {
        for firstEndIsRight in [true, false] {
            var packets = send([6], ticks: 10, timestamp: 50_000)
            packets[packets.count - 2].timestamp += first
            packets[packets.count - 1].timestamp += second
            if !firstEndIsRight { packets.remove(at: packets.count - 3) }
            #expect(told(receive(packets)) == ["6+", "6-"], "first end right: \(firstEndIsRight)")
            // The next press of the same key still counts.
            let next = send([6], ticks: 10, sequence: packets.last!.sequence + 3, timestamp: 50_000 + 6000).map {
                var packet = $0
                packet.at += 600
                return packet
            }
            #expect(told(receive(packets + next)) == ["6+", "6-", "6+", "6-"])
        }
    }

    /// B032: a gap of 1.3 s in the packets of one press.
    @Test func aGapInALongPressIsOnePress() {
        let events = receive([
            EventPacket(at: 0, sequence: 1, timestamp: 9, code: 2, duration: 1280),
            EventPacket(at: 160, sequence: 2, timestamp: 9, code: 2, duration: 2560),
            EventPacket(at: 1460, sequence: 3, timestamp: 9, code: 2, isEnd: true, duration: 13_568)
        ])
        #expect(told(events) == ["2+", "2-"])
    }

    /// B033: a late packet without E after the ends.
    @Test func aLatePacketAfterTheEndIsNoPress() {
        let end = EventPacket(at: 100, sequence: 6, timestamp: 9, code: 2, isEnd: true, duration: 800)
        var late = end
        (late.at, late.sequence, late.isEnd, late.duration) = (140, 5, false, 640)
        var again = end
        again.at = 160
        #expect(told(receive([end, end, late, again])) == ["2+", "2-"])
    }

    /// A long press in segments stays one press, with loss as well.
    @Test(arguments: 1...10) func lossInSegments(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        let packets = send([9], ticks: 1200).filter { _ in !random.happens(0.1) }
        #expect(told(receive(packets)).filter { $0 == "9+" }.count == 1, "seed \(seed)")
    }
}
