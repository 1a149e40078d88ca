import Basics
import Reactor
import Testing

@Suite struct RecordRingTests {
    private func push(_ octets: [UInt8], _ tag: UInt16, to ring: RecordRing) -> Bool {
        octets.withUnsafeBytes { ring.push($0, tag: tag) }
    }

    private func pop(_ ring: RecordRing) -> (octets: [UInt8], tag: UInt16)? {
        var room = [UInt8](repeating: 0, count: 1024)
        guard let record = room.withUnsafeMutableBytes({ ring.pop(into: $0) }) else { return nil }
        return (Array(room[..<record.count]), record.tag)
    }

    @Test func recordsComeOutAsTheyWentInOverTheEndOfTheRing() {
        let ring = RecordRing(capacity: 64)
        #expect(pop(ring) == nil && !ring.drop() && ring.count == 0)
        for round in 0..<100 {
            let records = (0..<3).map { [UInt8](repeating: UInt8(round), count: (round + $0 * 5) % 17) }
            for (index, record) in records.enumerated() { #expect(push(record, UInt16(round * 3 + index), to: ring)) }
            #expect(ring.count == 3)
            #expect(ring.drop())
            for index in 1..<3 {
                let record = pop(ring)
                #expect(record?.octets == records[index] && record?.tag == UInt16(round * 3 + index))
            }
            #expect(ring.count == 0)
        }
    }

    @Test func whatFindsNoRoomIsNotTakenAndSpoilsNothing() {
        let ring = RecordRing(capacity: 32)
        #expect(push(Array(repeating: 1, count: 20), 1, to: ring))
        #expect(!push(Array(repeating: 2, count: 5), 2, to: ring))
        #expect(push(Array(repeating: 3, count: 4), 3, to: ring))
        #expect(!push([], 4, to: ring), "a head takes room too")
        #expect(pop(ring)?.tag == 1 && pop(ring)?.octets == [3, 3, 3, 3] && pop(ring) == nil)
    }

    /// Each record tells its number and is as long as that says: nothing is torn, doubled or out of order.
    @Test func oneThreadWritesAndAnotherReads() throws {
        let ring = RecordRing(capacity: 512)
        let loops = try (0..<2).map { try EpollLoop(name: "ring \($0)") }
        for loop in loops { try loop.start() }
        let (count, done) = (20_000, Outcome<Bool>())
        let wrong = Locked(0)
        loops[0].execute {
            var number = 0
            while number < count {
                let octets = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 61)
                if octets.withUnsafeBytes({ ring.push($0, tag: UInt16(truncatingIfNeeded: number)) }) { number += 1 }
            }
        }
        loops[1].execute {
            var number = 0
            var room = [UInt8](repeating: 0, count: 64)
            while number < count {
                guard let record = room.withUnsafeMutableBytes({ ring.pop(into: $0) }) else { continue }
                let isRight =
                    record.tag == UInt16(truncatingIfNeeded: number) && record.count == number % 61
                    && room[..<record.count].allSatisfy { $0 == UInt8(truncatingIfNeeded: number) }
                if !isRight { wrong.withLock { $0 += 1 } }
                number += 1
            }
            done.set(true)
        }
        #expect(done.wait(within: .seconds(60)) == true)
        #expect(wrong.withLock { $0 } == 0 && ring.count == 0)
        for loop in loops { _ = loop.stop(within: .seconds(10)) }
    }
}
