// What the members of a room hear, encoded: once for all who hear the same in the same codec and packet time, and once for each who hears
// something else (ConferenceSeat.isApart). All streams of a packet time end their frames in the same block, so that a member goes from one
// to the other without a gap.

import Audio

/// Belongs to its room.
final class ConferenceFeeds {
    private struct Shared {
        let codec: Audio.AudioCodec
        let packetTime: Int
        let encoder: Transcoder
    }

    /// In Hz.
    private let rate: Int
    private var shared: [Shared] = []
    /// Samples since the beginning.
    private var position = 0
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: mostOctets, alignment: 16)
    private let own = UnsafeMutableRawBufferPointer.allocate(byteCount: mostOctets, alignment: 16)
    private static let mostOctets = 4096

    init(rate: Int) { self.rate = rate }

    deinit {
        output.deallocate()
        own.deallocate()
    }

    /// Gives each seat that hears its part of a block.
    /// - Returns: how many frames were encoded, and how many found no room.
    func send(_ mix: ConferenceMix, to seats: [ConferenceSeat], at turn: Int) -> (encoded: Int, dropped: Int) {
        withUnsafeTemporaryAllocation(of: Int16.self, capacity: mix.count * 2) { samples in
            let everything = UnsafeMutableBufferPointer(rebasing: samples[..<mix.count])
            let part = UnsafeMutableBufferPointer(rebasing: samples[mix.count...])
            mix.everybody(into: everything)
            for seat in seats {
                if seat.isHeard {
                    seat.block.withUnsafeBufferPointer { mix.everybody(but: $0, into: part) }
                } else {
                    _ = part.update(fromContentsOf: everything)
                }
                if seat.listenRatio != 1 { part.amplify(by: seat.listenRatio) }
                let feed = seat.feed ?? begin(seat.format.codec, seat.format.packetTime)
                seat.feed = feed
                feed.put(UnsafeBufferPointer(part))
            }
            openShared(for: seats)
            for shared in shared { shared.encoder.put(UnsafeBufferPointer(everything)) }
        }
        position += mix.count
        var sums = (encoded: 0, dropped: 0)
        for shared in shared {
            let listeners = seats.filter { $0.format.codec == shared.codec && $0.format.packetTime == shared.packetTime }
            encode(shared.encoder, for: listeners, at: turn, &sums)
        }
        return sums
    }

    /// One that ends its frames where all of that packet time do.
    private func begin(_ codec: Audio.AudioCodec, _ packetTime: Int) -> Transcoder {
        let encoder = Transcoder(codec, rate: rate, packetTime: packetTime)
        let lead = position % (rate * packetTime / 1000)
        encoder.put([Int16](repeating: 0, count: lead))
        return encoder
    }

    private func openShared(for seats: [ConferenceSeat]) {
        shared.removeAll { shared in
            !seats.contains { $0.format.codec == shared.codec && $0.format.packetTime == shared.packetTime }
        }
        for seat in seats {
            let (codec, time) = (seat.format.codec, seat.format.packetTime)
            guard !shared.contains(where: { $0.codec == codec && $0.packetTime == time }) else { continue }
            shared.append(Shared(codec: codec, packetTime: time, encoder: begin(codec, time)))
        }
    }

    private func encode(
        _ encoder: Transcoder, for seats: [ConferenceSeat], at turn: Int, _ sums: inout (encoded: Int, dropped: Int)
    ) {
        let isWanted = seats.contains { !$0.isApart(at: turn) }
        while true {
            var octets = 0
            if isWanted {
                guard let count = encoder.next(to: output) else { return }
                octets = count
                sums.encoded += 1
            } else if !encoder.skip() {
                return
            }
            for seat in seats {
                var payload = UnsafeRawBufferPointer(rebasing: output[..<octets])
                if seat.isApart(at: turn) {
                    guard let count = seat.feed?.next(to: own) else { continue }
                    sums.encoded += 1
                    payload = UnsafeRawBufferPointer(rebasing: own[..<count])
                } else {
                    _ = seat.feed?.skip()
                }
                if !seat.give(payload) { sums.dropped += 1 }
            }
        }
    }
}
