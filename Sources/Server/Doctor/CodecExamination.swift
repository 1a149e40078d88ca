// Whether the codecs give back what they were given.

import Audio

enum CodecExamination {
    static func findings() -> [DoctorFinding] {
        let broken = AudioCodec.all.filter { !givesBack($0) }.map(\.description)
        guard broken.isEmpty else {
            return [
                DoctorFinding(
                    .problem, "codecs", "\(broken.joined(separator: ", ")) do not give back what they were given",
                    mend: "install libopus and libspandsp anew")
            ]
        }
        var names: [String] = []
        for codec in AudioCodec.all where !names.contains(codec.name) { names.append(codec.name) }
        return [DoctorFinding(.well, "codecs", "\(names.joined(separator: ", ")) work")]
    }

    /// A tone of 440 Hz comes out as loud as it went in.
    private static func givesBack(_ codec: AudioCodec) -> Bool {
        let tone = ToneGenerator.clip(
            Tone(frequencies: [440]), level: -13, rate: codec.sampleRate, length: .milliseconds(400))
        let prompt = EncodedPrompt(tone, codec: codec)
        let decoder = FrameDecoder(codec)
        var heard = AudioClip(samples: [], rate: codec.sampleRate)
        var payload = [UInt8](repeating: 0, count: codec.maximumBytes(forSamples: codec.samples(inMilliseconds: 20)))
        for packet in 0..<prompt.packetCount {
            payload.withUnsafeMutableBytes { bytes in
                let octets = UnsafeRawBufferPointer(rebasing: bytes[..<prompt.copyPayload(packet, to: bytes)])
                var samples = [Int16](repeating: 0, count: decoder.maximumSamples(in: octets))
                let count = samples.withUnsafeMutableBufferPointer { decoder.decode(octets, into: $0) }
                heard.samples.append(contentsOf: samples.prefix(count))
            }
        }
        let middle = heard.part(from: .milliseconds(100), until: .milliseconds(300))
        return middle.length == .milliseconds(200) && abs(middle.level - tone.level) < 1
    }
}
