// Speech gives no key: minutes of it by espeak-ng, in several voices and languages, of words that a seed puts together.
// RINGWRIGHT_SPEECH_MINUTES says how many (scripts/long takes 30).

import Audio
import Basics
import Foundation
import Testing

@Suite struct SpeechTalkOffTests {
    private static let speaker = "/usr/bin/espeak-ng"
    private static let words = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "hundred", "please", "press", "wait",
        "thank",
        "you", "who", "whom", "food", "see", "tea", "key", "moon", "noon", "room", "your", "call", "is", "being", "recorded",
        "account",
        "number", "order", "delivery", "tomorrow", "morning", "afternoon", "really", "oh", "yes", "no", "hello", "name", "street",
        "mail",
        "language", "union", "illusion", "beautiful", "whistle", "sixteen", "eighteen", "million", "seems", "easy", "blue"
    ]
    private static let voices = [
        "en", "en-us+f2", "en+m3", "de", "fr+f4", "es", "it+f1", "pl", "sv+m7", "en+whisper", "nl+f5", "pt"
    ]

    /// About half a minute.
    private static func speech(_ number: Int, _ folder: TemporaryFolder) throws -> AudioClip {
        var random = SeededRandom(seed: UInt64(number))
        let text = (0..<70).map { _ in words[Int(random.next() % UInt64(words.count))] }.joined(separator: " ")
        let path = folder.file("speech.wav")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: speaker)
        process.arguments = [
            "-v", voices[number % voices.count], "-s", "\(120 + random.next() % 100)", "-p", "\(random.next() % 100)", "-w", path,
            text
        ]
        try process.run()
        process.waitUntilExit()
        return try PromptFile.read(path).resampled(to: 8000)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: speaker), "espeak-ng is not installed"))
    func minutesOfSpeechGiveNoKey() throws {
        let minutes = ProcessInfo.processInfo.environment["RINGWRIGHT_SPEECH_MINUTES"].flatMap { Int($0) } ?? 1
        let folder = TemporaryFolder()
        var samples = 0
        var number = 0
        while samples < minutes * 60 * 8000 {
            let clip = try Self.speech(number, folder)
            try #require(clip.samples.count > 8000 && clip.level > -40, "espeak-ng said nothing")
            samples += clip.samples.count
            let law = number.isMultiple(of: 2) ? G711Law.mu : .a
            let heard = DTMFTests.keys(clip.samples.map { law.decode(law.encode($0)) })
            #expect(heard == "", "speech \(number), voice \(Self.voices[number % Self.voices.count])")
            number += 1
        }
    }
}
