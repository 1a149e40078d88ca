// Tones: sums of sines with a cadence. The text form is what the country table is written in:
//
//     440+480:2000 0:4000      two frequencies for 2000 ms, then 4000 ms of silence, over and over
//     350+440                  a steady tone
//     400*25:400 0:200         a carrier, its amplitude modulated by 25 Hz

import Basics

/// A tone with its cadence.
package struct Tone: Hashable, Sendable {
    /// A part of the cadence.
    package struct Element: Hashable, Sendable {
        /// In Hz, sounding together; none is a pause.
        package var frequencies: [Double]
        /// The frequency in Hz that modulates the amplitude (to a depth of 90%), or nil.
        package var modulation: Double?
        /// nil sounds for ever: the only element then.
        package var duration: Duration?

        package init(_ frequencies: [Double], modulation: Double? = nil, duration: Duration? = nil) {
            self.frequencies = frequencies
            self.modulation = modulation
            self.duration = duration
        }
    }

    /// At least one.
    package var elements: [Element]

    package init(_ elements: [Element]) {
        precondition(!elements.isEmpty, "a tone has an element")
        precondition(elements.count == 1 || elements.allSatisfy { $0.duration != nil }, "only a steady tone has no duration")
        self.elements = elements
    }

    /// Frequencies that sound together, with on and off times in turn; an empty cadence is a steady tone.
    package init(frequencies: [Double], cadence: [Duration] = []) {
        guard !cadence.isEmpty else {
            self.init([Element(frequencies)])
            return
        }
        self.init(
            cadence.enumerated().map { Element($0.offset.isMultiple(of: 2) ? frequencies : [], duration: $0.element) })
    }

    /// Reads the text form; nil when it is none (frequencies from 1 to 20,000 Hz, durations of at least 1 ms).
    package init?(_ text: String) {
        var elements: [Element] = []
        for part in text.split(separator: " ") {
            let sides = part.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            var duration: Duration?
            if sides.count == 2 {
                guard let milliseconds = Int(sides[1]), milliseconds > 0 else { return nil }
                duration = .milliseconds(milliseconds)
            }
            let carrier = sides[0].split(separator: "*", maxSplits: 1, omittingEmptySubsequences: false)
            var modulation: Double?
            if carrier.count == 2 {
                guard let value = Double(carrier[1]), (1...20_000).contains(value) else { return nil }
                modulation = value
            }
            var frequencies: [Double] = []
            if carrier[0] != "0" {
                for frequency in carrier[0].split(separator: "+", omittingEmptySubsequences: false) {
                    guard let value = Double(frequency), (1...20_000).contains(value) else { return nil }
                    frequencies.append(value)
                }
            }
            elements.append(Element(frequencies, modulation: modulation, duration: duration))
        }
        guard !elements.isEmpty, elements.count == 1 || elements.allSatisfy({ $0.duration != nil }) else { return nil }
        self.elements = elements
    }

    /// The length of one cadence; nil for a steady tone.
    package var cadence: Duration? {
        var sum = Duration.zero
        for element in elements {
            guard let duration = element.duration else { return nil }
            sum += duration
        }
        return sum
    }

    /// The set of frequencies of the first element that sounds: what a detector listens for.
    package var mainFrequencies: [Double] { elements.first { !$0.frequencies.isEmpty }?.frequencies ?? [] }
}

/// Generates a tone sample by sample; it goes on where it stopped, whatever the size of the buffers.
package struct ToneGenerator {
    package let tone: Tone
    package let rate: Int
    private let amplitude: Double
    private var index = 0
    /// Samples of the present element that are done.
    private var done = 0
    /// Samples since the present sound began: the phase of each sine follows from it.
    private var phase = 0
    private let lengths: [Int?]

    /// - Parameter level: of each frequency, in dBm0.
    package init(_ tone: Tone, level: Double = -13, rate: Int) {
        self.tone = tone
        self.rate = rate
        amplitude = Decibels.amplitude(level)
        // Each border is rounded from the cadence's start, so that a cadence has the right length as a whole.
        var end = Duration.zero
        var before = 0
        lengths = tone.elements.map { element in
            guard let duration = element.duration else { return nil }
            end += duration
            let border = AudioClip.samples(in: end, rate: rate)
            defer { before = border }
            return border - before
        }
    }

    /// Fills the buffer; the cadence repeats for ever.
    package mutating func fill(_ buffer: UnsafeMutableBufferPointer<Int16>) {
        var position = 0
        while position < buffer.count {
            var count = buffer.count - position
            if let length = lengths[index] {
                guard done < length else {
                    advance()
                    continue
                }
                count = min(count, length - done)
            }
            render(tone.elements[index], UnsafeMutableBufferPointer(rebasing: buffer[position..<position + count]))
            position += count
            done += count
        }
    }

    private mutating func advance() {
        precondition(lengths.contains { $0 != 0 }, "a cadence has a length")
        done = 0
        let last = tone.elements[index]
        index = (index + 1) % tone.elements.count
        // The same frequencies in the next element go on in phase.
        if tone.elements[index].frequencies != last.frequencies { phase = 0 }
    }

    private mutating func render(_ element: Tone.Element, _ buffer: UnsafeMutableBufferPointer<Int16>) {
        guard !element.frequencies.isEmpty else {
            buffer.update(repeating: 0)
            phase = 0
            return
        }
        let turn = 2 * Double.pi / Double(rate)
        for offset in buffer.indices {
            let time = Double(phase + offset) * turn
            var value = 0.0
            for frequency in element.frequencies { value += sine(time * frequency) }
            if let modulation = element.modulation { value *= (1 + 0.9 * sine(time * modulation)) / 1.9 }
            buffer[offset] = saturated(value * amplitude)
        }
        phase += buffer.count
    }

    /// A piece of a tone.
    package static func clip(_ tone: Tone, level: Double = -13, rate: Int, length: Duration) -> AudioClip {
        var generator = ToneGenerator(tone, level: level, rate: rate)
        let count = AudioClip.samples(in: length, rate: rate)
        return AudioClip(
            samples: [Int16](unsafeUninitializedCapacity: count) { buffer, written in
                generator.fill(UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
                written = count
            }, rate: rate)
    }

    /// A piece that can be repeated without a seam and is a whole number of packets. A cadence is repeated until it fits
    /// (when it doesn't within 30 s, its end is filled with silence). For a steady tone the best number of
    /// packets within 2 s is taken and each frequency moved, by less than 0.5 Hz, to whole turns.
    static func loop(_ tone: Tone, level: Double, rate: Int, packetTime: Int) -> AudioClip {
        if let cadence = tone.cadence {
            let packet = Int64(packetTime) * 1_000_000
            let most = max(1, Int(30_000_000_000 / max(1, cadence.nanoseconds)))
            let times: Int = (1...most).first(where: { cadence.nanoseconds * Int64($0) % packet == 0 }) ?? 1
            return clip(tone, level: level, rate: rate, length: cadence * times)
        }
        let sines = tone.elements[0].frequencies + (tone.elements[0].modulation.map { [$0] } ?? [])
        func error(_ packets: Int) -> Double {
            let seconds = Double(packets * packetTime) / 1000
            return sines.map { abs(($0 * seconds).rounded() - $0 * seconds) / seconds }.max() ?? 0
        }
        let candidates = Array(max(1, 100 / packetTime)...max(1, 2000 / packetTime))
        let packets: Int = candidates.min(by: { error($0) < error($1) }) ?? 1
        let seconds = Double(packets * packetTime) / 1000
        var fitted = tone
        fitted.elements[0].frequencies = tone.elements[0].frequencies.map { ($0 * seconds).rounded() / seconds }
        fitted.elements[0].modulation = tone.elements[0].modulation.map { ($0 * seconds).rounded() / seconds }
        return clip(fitted, level: level, rate: rate, length: .milliseconds(packets * packetTime))
    }
}
