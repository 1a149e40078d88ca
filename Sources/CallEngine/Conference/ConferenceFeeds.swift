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
        var listeners: [ConferenceSeat] = []
    }

    /// In Hz.
    private let rate: Int
    private var shared: [Shared] = []
    private var seats: [ConferenceSeat] = []
    /// Samples since the beginning.
    private var position = 0
    /// A block of all, and one of a single member.
    private let everything: UnsafeMutableBufferPointer<Int16>
    private let part: UnsafeMutableBufferPointer<Int16>
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: mostOctets, alignment: 16)
    private let own = UnsafeMutableRawBufferPointer.allocate(byteCount: mostOctets, alignment: 16)
    private static let mostOctets = 4096

    /// - Parameter block: samples of a block.
    init(rate: Int, block: Int) {
        self.rate = rate
        everything = .allocate(capacity: block)
        part = .allocate(capacity: block)
        everything.initialize(repeating: 0)
        part.initialize(repeating: 0)
    }

    deinit {
        everything.deallocate()
        part.deallocate()
        output.deallocate()
        own.deallocate()
    }

    /// Who hears from now on.
    func arrange(for seats: [ConferenceSeat]) {
        self.seats = seats
        for index in shared.indices { shared[index].listeners = [] }
        for seat in seats {
            let (codec, time) = (seat.format.codec, seat.format.packetTime)
            if let index = shared.firstIndex(where: { $0.codec == codec && $0.packetTime == time }) {
                shared[index].listeners.append(seat)
            } else {
                shared.append(Shared(codec: codec, packetTime: time, encoder: begin(codec, time), listeners: [seat]))
            }
        }
        shared.removeAll { $0.listeners.isEmpty }
    }

    /// Gives each its part of a block.
    /// - Returns: how many frames were encoded, and how many found no room.
    func send(_ mix: ConferenceMix, at turn: Int) -> (encoded: Int, dropped: Int) {
        mix.everybody(into: everything)
        for seat in seats {
            if seat.isHeard {
                seat.block.withUnsafeBufferPointer { mix.everybody(but: $0, into: part) }
            } else {
                _ = part.update(fromContentsOf: everything)
            }
            if seat.listenRatio != 1 { part.amplify(by: seat.listenRatio) }
            if seat.feed == nil, position > 0 { seat.begins(at: turn) }
            let feed = seat.feed ?? begin(seat.format.codec, seat.format.packetTime)
            seat.feed = feed
            feed.put(UnsafeBufferPointer(part))
        }
        position += mix.count
        var sums = (encoded: 0, dropped: 0)
        for shared in shared {
            shared.encoder.put(UnsafeBufferPointer(everything))
            encode(shared.encoder, for: shared.listeners, at: turn, &sums)
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
