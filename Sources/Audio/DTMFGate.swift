// What spandsp's receiver leaves open, since it judges blocks of 12.75 ms one by one: how long a tone is to the millisecond, and how far
// its two frequencies are off. Q.24: 40 ms count and 23 ms do not; 1.5% count and 3.5% do not.

import Basics
import Glibc

/// The last 64 ms of a stream at 8 kHz, and what they say of a key that the receiver found in them.
struct DTMFGate {
    enum Verdict {
        case accepted
        /// The tone is too short so far.
        case early
        case refused
    }

    private static let size = 512
    /// A tone shorter than this is no key, in milliseconds.
    private static let leastLength = 30
    /// The largest error of a frequency, as a part of it.
    private static let mostError = 0.024

    private var ring = [Int16](repeating: 0, count: size)
    private var next = 0

    /// - Parameter samples: not more than 64 ms.
    mutating func take(_ samples: UnsafeBufferPointer<Int16>) {
        let first = min(samples.count, Self.size - next)
        ring.withUnsafeMutableBufferPointer { ring in
            for index in 0..<first { ring[next + index] = samples[index] }
            for index in first..<samples.count { ring[index - first] = samples[index] }
        }
        next = (next + samples.count) % Self.size
    }

    /// - Parameter sounds: whether the tone goes on; else it had its whole length.
    func verdict(_ key: UInt8, sounds: Bool) -> Verdict {
        guard let tones = DTMFTones.frequencies(of: key) else { return .refused }
        return withUnsafeTemporaryAllocation(of: Double.self, capacity: Self.size) { samples in
            for index in 0..<Self.size { samples[index] = Double(ring[(next + index) % Self.size]) }
            guard let run = lastRun(UnsafeBufferPointer(samples)), run.count >= Self.leastLength else {
                return sounds ? .early : .refused
            }
            // Its end may be half in the window that called it on.
            let end = run.upperBound * 8 - 8
            for tone in [tones.low, tones.high] {
                let error = Self.error(of: tone, UnsafeBufferPointer(rebasing: samples[end - 160..<end]))
                if abs(error) > Self.mostError * tone { return .refused }
            }
            return .accepted
        }
    }

    /// The last stretch of sound, in milliseconds of the 64. Four milliseconds, a beat of the closest two tones, are one measurement, so
    /// the stretch begins and ends where it has half of its energy.
    private func lastRun(_ samples: UnsafeBufferPointer<Double>) -> Range<Int>? {
        let count = Self.size / 8
        return withUnsafeTemporaryAllocation(of: Double.self, capacity: count * 2) { memory in
            let energies = UnsafeMutableBufferPointer(rebasing: memory[..<count])
            var sorted = UnsafeMutableBufferPointer(rebasing: memory[count...])
            for place in 0..<count {
                var sum = 0.0
                for index in max(0, place * 8 - 12)..<min(Self.size, place * 8 + 20) { sum += samples[index] * samples[index] }
                energies[place] = sum
                sorted[place] = sum
            }
            sorted.sort()
            // Not the loudest: a click is no tone.
            let half = sorted[count * 3 / 4] / 2
            guard half > 0, let last = energies.lastIndex(where: { $0 >= half }) else { return nil }
            let before = energies[..<last].lastIndex { $0 < half } ?? -1
            return before + 1..<last + 1
        }
    }

    /// By how many Hz a tone within 20 ms of samples is off: its phase turns by that much from the first 15 ms to the last.
    private static func error(of frequency: Double, _ samples: UnsafeBufferPointer<Double>) -> Double {
        let (length, shift) = (120, 40)
        func phase(_ start: Int) -> Double {
            var (real, imaginary) = (0.0, 0.0)
            for index in 0..<length {
                let window = 0.5 - 0.5 * cos(2 * Double.pi * (Double(index) + 0.5) / Double(length))
                let angle = 2 * Double.pi * frequency * Double(start + index) / 8000
                real += samples[start + index] * window * cos(angle)
                imaginary -= samples[start + index] * window * sine(angle)
            }
            return atan2(imaginary, real)
        }
        let turn = remainder(phase(shift) - phase(0), 2 * Double.pi)
        return turn / (2 * Double.pi) * 8000 / Double(shift)
    }
}
