// The prompts in the repository: each text has its file, each can be played, and all together stay small.

import Audio
import Glibc
import Testing

@Suite struct CommittedPromptsTests {
    static let folder = String(#filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }) + "/prompts"

    static func names() throws -> [String] {
        var text: [UInt8] = []
        let descriptor = open("\(folder)/texts.tsv", O_RDONLY)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var block = [UInt8](repeating: 0, count: 65536)
        while case let count = read(descriptor, &block, block.count), count > 0 { text += block.prefix(count) }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
        return lines.compactMap { $0.split(separator: "\t").first.map(String.init) } + ["hold-music", "beep"]
    }

    @Test func eachCanBePlayed() throws {
        let names = try Self.names()
        #expect(names.count >= 17)
        var bytes: Int64 = 0
        for name in names {
            let path = "\(Self.folder)/\(name).wav"
            bytes += try FileStamp(path: path).size
            let clip = try PromptFile.read(path)
            // 16 kHz, so that resampling is part of every call.
            #expect(clip.rate == 16000, "\(name)")
            #expect(clip.length >= .milliseconds(300) && clip.length <= .seconds(9), "\(name)")
            // As loud as speech on the telephone is, and not clipped.
            #expect(clip.level > -26 && clip.level < -3, "\(name): \(clip.level)")
            #expect(clip.samples.allSatisfy { abs(Int($0)) < 32700 }, "\(name)")
            let prompt = EncodedPrompt(clip, codec: .pcma)
            let match = Correlation.search(clip, in: AudioClip(samples: EncodedPromptTests.decode(prompt), rate: 8000))
            #expect(match.peak > 0.99 && match.lag == 0, "\(name): \(match)")
        }
        #expect(bytes < 1_600_000)
    }

    @Test func eachIsToldFromTheOthers() throws {
        let names = ["welcome", "menu-short", "not-valid", "goodbye", "probe"]
        let clips = try names.map { ($0, try PromptFile.read("\(Self.folder)/\($0).wav").resampled(to: 8000)) }
        for (name, clip) in clips {
            for (other, heard) in clips where other != name {
                let match = Correlation.search(clip, in: heard, overlap: 0.9)
                #expect(abs(match.peak) < 0.7, "\(name) in \(other): \(match)")
            }
        }
    }
}
