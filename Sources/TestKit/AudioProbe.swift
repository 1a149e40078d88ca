// Listens for a test: collects the payloads that one side received and says what was in them, by correlation with
// the prompts that should be there, not by length. Also for recordings.

package import Audio
import Glibc

/// What one side heard: payloads decoded one after the other.
package final class AudioProbe {
    package private(set) var heard: AudioClip
    private let decoder: FrameDecoder

    package init(_ codec: AudioCodec) {
        decoder = FrameDecoder(codec)
        heard = AudioClip(samples: [], rate: codec.sampleRate)
    }

    /// Takes the payload of a packet.
    package func hear(_ payload: some Sequence<UInt8>) {
        Array(payload).withUnsafeBytes { bytes in
            var samples = [Int16](repeating: 0, count: decoder.maximumSamples(in: bytes))
            let count = samples.withUnsafeMutableBufferPointer { decoder.decode(bytes, into: $0) }
            heard.samples.append(contentsOf: samples.prefix(count))
        }
    }

    /// Takes a packet's time of silence.
    package func hearNothing(milliseconds: Int) {
        heard.samples.append(contentsOf: repeatElement(0, count: decoder.codec.samples(inMilliseconds: milliseconds)))
    }

    /// How like the prompt is the most similar stretch of what was heard, and where: above 0.9 it is there.
    package func match(prompt path: String, overlap: Double = 0.9) throws(PromptError) -> Correlation.Match {
        Correlation.search(try PromptFile.read(path), in: heard, overlap: overlap)
    }

    /// The DTMF keys that were heard in-band.
    package var keys: String { Self.keys(in: heard) }

    /// The DTMF keys in a clip.
    package static func keys(in clip: AudioClip) -> String {
        let receiver = DTMFReceiver()
        var keys = ""
        clip.resampled(to: 8000).samples.withUnsafeBufferPointer { samples in
            receiver.process(samples) { event in
                if case .began(let key) = event { keys.append(Character(Unicode.Scalar(key))) }
            }
        }
        return keys
    }

    /// How loud a frequency (in Hz) is in a clip, in dBm0; some 5 Hz are told apart in a clip of a second.
    package static func level(at frequency: Double, in clip: AudioClip) -> Double {
        // Windowed (Hann), so that other tones do not show.
        var (real, imaginary, weight) = (0.0, 0.0, 0.0)
        for (index, sample) in clip.samples.enumerated() {
            let window = 1 - cos(2 * .pi * (Double(index) + 0.5) / Double(clip.samples.count))
            let angle = 2 * .pi * frequency * Double(index) / Double(clip.rate)
            real += window * Double(sample) * cos(angle)
            imaginary += window * Double(sample) * sin(angle)
            weight += window
        }
        guard weight > 0 else { return -.infinity }
        return Decibels.level(power: 2 * (real * real + imaginary * imaginary) / (weight * weight))
    }

    /// How like the prompt is the most similar stretch of a recording.
    /// - Parameter channel: nil mixes all channels down; 0 is left, the far side of a stereo recording.
    package static func match(
        prompt: String, recording: String, channel: Int? = nil, overlap: Double = 0.9
    ) throws(PromptError) -> Correlation.Match {
        Correlation.search(try PromptFile.read(prompt), in: try PromptFile.read(recording, channel: channel), overlap: overlap)
    }
}
