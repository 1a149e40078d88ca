// Persons and machines as espeak-ng says them, in many voices, through G.711 with a quiet line's noise: the standard limits tell them apart.

import Audio
import Basics
import CallEngine
import Foundation
import Testing

@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/espeak-ng"), "espeak-ng is not installed"))
struct AnswererSpeechTests {
    private static let voices = ["en", "en-us+f2", "en+m3", "en+f4", "en-us+m7", "en+f1"]
    private static let persons = ["Hello?", "Yes?", "Hello, Anna?", "Good morning.", "Smith."]
    private static let machines = [
        "Hello, you have reached Anna and Paul. We are not at home now. Please leave a message after the tone.",
        "The person you are calling is not available. Please call again later.",
        "Hi, this is the mobile of Peter Smith. I cannot answer right now, so leave me your name and number, and I will call you back.",
        "Welcome to the voice mail of extension four two one. Please record your message, and press any key when you are done."
    ]

    private static func speech(_ text: String, _ voice: String) throws -> [Int16] {
        let path = temporaryFile("said.wav")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/espeak-ng")
        process.arguments = ["-v", voice, "-s", "160", "-w", path, text]
        try process.run()
        process.waitUntilExit()
        return try PromptFile.read(path).resampled(to: 8000).samples
    }

    private static func verdict(_ speech: [Int16], pause: Int, _ law: G711Law, seed: UInt64) -> AnswererVerdict? {
        var random = SeededRandom(seed: seed)
        let whole = [Int16](repeating: 0, count: pause) + speech + [Int16](repeating: 0, count: 40_000)
        let heard = whole.map { sample in law.decode(law.encode(Int16(clamping: Int(sample) + Int(random.next() % 64) - 32))) }
        let blocks = SoundBlocks()
        var judge = AnswererJudge()
        var verdict: AnswererVerdict?
        heard.withUnsafeBufferPointer { samples in
            for start in stride(from: 0, to: samples.count - 160, by: 160) where verdict == nil {
                blocks.process(UnsafeBufferPointer(rebasing: samples[start..<start + 160])) { kind in
                    if verdict == nil { verdict = judge.take(isSpeech: kind == .speech, .milliseconds(32)) }
                }
            }
        }
        return verdict
    }

    @Test(arguments: voices) func theyAreToldApart(voice: String) throws {
        for (number, text) in (Self.persons + Self.machines).enumerated() {
            let speech = try Self.speech(text, voice)
            let expected: AnswererVerdict.Answerer = number < Self.persons.count ? .human : .machine
            for (law, pause) in [(G711Law.mu, 2400), (.a, 9600)] {
                let verdict = Self.verdict(speech, pause: pause, law, seed: UInt64(number))
                #expect(verdict?.answerer == expected, "\(voice): \(text): \(verdict.map { "\($0)" } ?? "none")")
            }
        }
    }
}
