// Brings both sides of a call onto one clock for the recorder: each frame lies where its media timestamp says, whatever
// order it came in; what was lost is silence. Pure: instants and samples in, samples out.
//
// A side's timestamps are tied to the recording's time by the first frame's arrival. They are tied anew when they jump (by
// more than a second), or when five frames in a row come too late, as with a sender whose clock is slow.

package import Basics

/// Aligns the frames of two sides into one stream of samples.
package struct RecordingMixer {
    package enum Layout: Equatable, Sendable {
        /// Both sides added.
        case mono
        /// Interleaved: the far side left, ours right.
        case stereo
        /// The far side alone.
        case far

        package var channels: Int { self == .stereo ? 2 : 1 }
    }

    package enum Side: Int, CaseIterable, Sendable {
        case far
        case near
    }

    /// What happened to one side's frames, in samples of the recording.
    package struct Counts: Equatable, Sendable {
        /// Samples that are in the recording.
        package var placed = 0
        /// Silence in place of audio, since this side's first frame.
        package var missing = 0
        /// Samples that came after their place was written.
        package var late = 0
        /// How often the timestamps were tied anew.
        package var restarts = 0
    }

    private struct Track {
        var clockRate: Int
        /// Where in the recording the timestamp `lastTimestamp` lies; nil before the first frame.
        var lastPlace: Int?
        var lastTimestamp: UInt32 = 0
        var firstPlace: Int?
        var lateInARow = 0
        var ring: [Int16]
        var isThere: [Bool]
        var counts = Counts()

        init(capacity: Int, clockRate: Int) {
            self.clockRate = clockRate
            ring = [Int16](repeating: 0, count: capacity)
            isThere = [Bool](repeating: false, count: capacity)
        }
    }

    package let layout: Layout
    /// Of the recording and of all frames, in Hz.
    package let rate: Int
    package let start: Instant
    /// How late a frame may come.
    package let window: Duration
    /// While true frames become silence that is not counted as missing.
    package var isPaused = false
    /// Samples for each channel that were given out.
    package private(set) var position = 0

    private let capacity: Int
    private let windowSamples: Int
    private var far: Track
    private var near: Track

    /// - Parameters:
    ///   - clockRates: the RTP clock of each side where it is not `rate`.
    package init(
        layout: Layout, rate: Int, start: Instant, window: Duration = .milliseconds(200), farClockRate: Int? = nil,
        nearClockRate: Int? = nil
    ) {
        precondition(rate > 0, "a recording has a rate")
        self.layout = layout
        self.rate = rate
        self.start = start
        self.window = window
        windowSamples = AudioClip.samples(in: window, rate: rate)
        capacity = windowSamples + rate
        far = Track(capacity: capacity, clockRate: farClockRate ?? rate)
        near = Track(capacity: layout == .far ? 1 : capacity, clockRate: nearClockRate ?? rate)
    }

    package func counts(_ side: Side) -> Counts { side == .far ? far.counts : near.counts }

    /// The side begins anew (another SSRC, another codec): its next frame is tied by its arrival.
    package mutating func restart(_ side: Side, clockRate: Int? = nil) {
        if side == .far {
            far.lastPlace = nil
            if let clockRate { far.clockRate = clockRate }
        } else {
            near.lastPlace = nil
            if let clockRate { near.clockRate = clockRate }
        }
    }

    /// Takes a frame: decoded samples at `rate`, with the RTP timestamp of their packet and when it came (or went).
    package mutating func add(
        _ side: Side, timestamp: UInt32, samples: UnsafeBufferPointer<Int16>, at now: Instant
    ) {
        guard !samples.isEmpty else { return }
        let arrival = AudioClip.samples(in: now - start, rate: rate)
        if side == .far {
            place(&far, timestamp, samples, arrival)
        } else if layout != .far {
            place(&near, timestamp, samples, arrival)
        }
    }

    private func place(_ track: inout Track, _ timestamp: UInt32, _ samples: UnsafeBufferPointer<Int16>, _ arrival: Int) {
        var place = arrival
        if let last = track.lastPlace {
            let ticks = Int(Int32(bitPattern: timestamp &- track.lastTimestamp))
            place = last + ticks * rate / track.clockRate
            let isLate = place + samples.count <= position
            track.lateInARow = isLate ? track.lateInARow + 1 : 0
            if abs(place - arrival) > rate || track.lateInARow >= 5 {
                place = arrival
                track.counts.restarts += 1
                track.lateInARow = 0
            }
        }
        track.lastPlace = place
        track.lastTimestamp = timestamp
        if track.firstPlace == nil { track.firstPlace = max(place, position) }
        for index in samples.indices {
            let target = place + index
            guard target >= position, target < position + capacity else {
                track.counts.late += 1
                continue
            }
            let slot = target % capacity
            track.ring[slot] = isPaused ? 0 : samples[index]
            track.isThere[slot] = true
        }
    }

    /// Appends what is settled at `now`: everything older than the window. Called often enough (each second at least).
    package mutating func drain(at now: Instant, into samples: inout [Int16]) {
        emit(until: AudioClip.samples(in: now - start, rate: rate) - windowSamples, &samples)
    }

    /// Appends the rest, so that the whole is as long as from the start until `end`.
    package mutating func finish(at end: Instant, into samples: inout [Int16]) {
        emit(until: AudioClip.samples(in: end - start, rate: rate), &samples)
    }

    private mutating func emit(until end: Int, _ samples: inout [Int16]) {
        guard end > position else { return }
        samples.reserveCapacity(samples.count + (end - position) * layout.channels)
        while position < end {
            let slot = position % capacity
            let left = take(&far, slot)
            switch layout {
            case .far:
                samples.append(left)
            case .stereo:
                samples.append(left)
                samples.append(take(&near, slot))
            case .mono:
                samples.append(Int16(clamping: Int(left) + Int(take(&near, slot))))
            }
            position += 1
        }
    }

    @inline(__always)
    private func take(_ track: inout Track, _ slot: Int) -> Int16 {
        guard track.isThere[slot] else {
            if let first = track.firstPlace, position >= first, !isPaused { track.counts.missing += 1 }
            return 0
        }
        track.isThere[slot] = false
        track.counts.placed += 1
        return track.ring[slot]
    }
}
