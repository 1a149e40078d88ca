// What the tests of Audio share: signals that can be made at any rate, files in any format, a folder of their own.

import Audio
import Basics
import CSndFile
import Glibc

/// A folder that goes with its test.
final class TemporaryFolder {
    let path: String

    init() {
        var template = Array("/tmp/audio-tests-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    }

    deinit {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != ".", name != ".." { unlink(file(name)) }
            }
            closedir(folder)
        }
        rmdir(path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ name: String, _ bytes: [UInt8]) -> String {
        let descriptor = open(file(name), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        return file(name)
    }
}

enum Signal {
    /// A sweep from 300 to 3000 Hz whose level rises and falls: the same sound at every rate.
    static func sweep(rate: Int, seconds: Double = 1.5, amplitude: Double = 0.5) -> [Double] {
        (0..<Int(seconds * Double(rate))).map { index in
            let time = Double(index) / Double(rate)
            let phase = 2 * Double.pi * (300 * time + 2700 / seconds * time * time / 2)
            return amplitude * sin(phase) * (0.6 + 0.4 * sin(2 * Double.pi * 3 * time))
        }
    }

    static func samples(_ values: [Double]) -> [Int16] {
        values.map { Int16(max(-32768, min(32767, ($0 * 32767).rounded()))) }
    }

    /// White noise with a level in dBm0.
    static func noise(_ count: Int, level: Double, seed: UInt64 = 7) -> [Int16] {
        var random = SeededRandom(seed: seed)
        // Twelve uniform numbers make a good normal one.
        let deviation = Decibels.amplitude(level) / 2.0.squareRoot()
        return (0..<count).map { _ in
            var sum = -6.0
            for _ in 0..<12 { sum += Double(random.next() >> 11) * 0x1p-53 }
            return Int16(max(-32768, min(32767, sum * deviation)))
        }
    }

    static func sum(_ left: [Int16], _ right: [Int16]) -> [Int16] {
        zip(left, right).map { Int16(clamping: Int($0) + Int($1)) }
    }

    /// The level in dBm0 of one frequency in samples (a plain sum over all of them).
    static func level(of frequency: Double, in clip: AudioClip) -> Double {
        var real = 0.0
        var imaginary = 0.0
        for (index, sample) in clip.samples.enumerated() {
            let angle = 2 * Double.pi * frequency * Double(index) / Double(clip.rate)
            real += Double(sample) * cos(angle)
            imaginary += Double(sample) * sin(angle)
        }
        let count = Double(clip.samples.count)
        return Decibels.level(power: 2 * (real * real + imaginary * imaginary) / (count * count))
    }
}

/// Writes values (-1 to 1) as a file of a libsndfile format; every channel gets the same.
/// - Returns: whether this libsndfile can write that format.
func writeFile(_ path: String, _ values: [Double], rate: Int, channels: Int, format: Int) -> Bool {
    var info = SF_INFO()
    info.samplerate = Int32(rate)
    info.channels = Int32(channels)
    info.format = Int32(format)
    guard let file = sf_open(path, Int32(SFM_WRITE), &info) else { return false }
    defer { sf_close(file) }
    let interleaved = values.flatMap { [Double](repeating: $0, count: channels) }
    // In pieces: its Vorbis encoder keeps whole writes on the stack.
    var frame = 0
    while frame < values.count {
        let count = min(1024, values.count - frame)
        let written = interleaved.withUnsafeBufferPointer {
            sf_writef_double(file, $0.baseAddress! + frame * channels, sf_count_t(count))
        }
        guard written == sf_count_t(count) else { return false }
        frame += count
    }
    return true
}

/// A WAV file by hand: the chunks as they are given.
func riff(_ chunks: [(String, [UInt8])]) -> [UInt8] {
    var body: [UInt8] = []
    for (name, content) in chunks {
        body += Array(name.utf8) + little(content.count, 4) + content
        if content.count % 2 == 1 { body.append(0) }
    }
    return Array("RIFF".utf8) + little(body.count + 4, 4) + Array("WAVE".utf8) + body
}

func little(_ value: Int, _ size: Int) -> [UInt8] { (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
