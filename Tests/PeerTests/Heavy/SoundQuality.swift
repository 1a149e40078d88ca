// PESQ (ITU-T P.862) by the Python package of that name, which scripts/peers puts beside the build: how good speech sounds beside its original,
// 1 to 4.5. A tool of tests only.

import Audio
import Foundation
import TestKit
import Testing

enum SoundQuality {
    private static let packages = Files.root.appendingPathComponent(".build/peers/python").path
    private static let isThere = FileManager.default.fileExists(atPath: "\(packages)/pesq")

    static var isWanted: ConditionTrait {
        let why = Peers.isAll ? "pesq is not there; scripts/peers fetches it" : "PESQ runs with scripts/test --peers only"
        return .enabled(if: Peers.isAll && isThere, Comment(rawValue: why))
    }

    /// A score for each pair: at 8000 Hz of P.862 (narrow band), at 16,000 Hz of P.862.2 (wide band). What was heard may begin with silence
    /// and end with anything.
    static func scores(_ pairs: [(original: AudioClip, heard: AudioClip)], rate: Int) throws -> [Double] {
        let folder = try TemporaryFolder()
        var names: [String] = []
        for (index, pair) in pairs.enumerated() {
            let original = pair.original.resampled(to: rate)
            let heard = pair.heard.resampled(to: rate)
            let lag = max(0, Correlation.search(original.samples, in: heard.samples).lag)
            let part = heard.samples.dropFirst(lag).prefix(original.samples.count)
            names += [folder.path("\(index).original"), folder.path("\(index).heard")]
            try write(original.samples, to: names[index * 2])
            try write(Array(part), to: names[index * 2 + 1])
        }
        try folder.write(program, to: "score.py")
        let python = try PeerProgram(
            "python3", [folder.path("score.py"), "\(rate)"] + names, in: folder,
            environment: ["PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"])
        let status = python.wait(.seconds(120))
        guard status == 0 else { throw PeerError.missing("a score: \(python.output)") }
        return python.output.split(separator: "\n").compactMap { Double($0) }
    }

    private static let program = """
        import sys, numpy, pesq
        rate = int(sys.argv[1])
        clips = [numpy.fromfile(path, dtype=numpy.int16) for path in sys.argv[2:]]
        for original, heard in zip(clips[::2], clips[1::2]):
            print(pesq.pesq(rate, original, heard, "wb" if rate == 16000 else "nb"))

        """

    private static func write(_ samples: [Int16], to path: String) throws {
        try samples.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: path)) }
    }
}
