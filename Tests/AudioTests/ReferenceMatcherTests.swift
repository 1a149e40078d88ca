// A recording is found in what goes on, and told from others.

import Audio
import Basics
import Testing

@Suite struct ReferenceMatcherTests {
    private static func read(_ name: String) throws -> [Int16] {
        let parts = #filePath.split(separator: "/").dropLast(3)
        return try PromptFile.read("/" + parts.joined(separator: "/") + "/prompts/" + name).resampled(to: 8000).samples
    }

    /// The share of the reference that is heard in this, which comes in uneven portions.
    private func share(of reference: [Int16], in heard: [Int16]) throws -> Double {
        var matcher = try #require(ReferenceMatcher(AudioClip(samples: reference, rate: 8000)))
        var place = 0
        for portion in sequence(first: 160, next: { $0 * 7 % 5000 + 100 }) {
            guard place < heard.count else { break }
            matcher.hear(Array(heard[place..<min(place + portion, heard.count)]))
            place += portion
        }
        return matcher.share
    }

    private func silence(_ seconds: Double) -> [Int16] { [Int16](repeating: 0, count: Int(8000 * seconds)) }

    @Test(arguments: ["menu.wav", "welcome.wav", "reminder.wav", "beep.wav"])
    func itIsFoundWhole(name: String) throws {
        let reference = try Self.read(name)
        #expect(try share(of: reference, in: silence(1.234) + reference.map { $0 / 3 } + silence(2)) > 0.95)
        // Twice, the first time cut short.
        let half = Array(reference.prefix(reference.count / 2))
        #expect(try share(of: reference, in: half + silence(1) + reference + silence(2)) > 0.95)
    }

    @Test func anotherIsNot() throws {
        let names = ["menu.wav", "welcome.wav", "goodbye.wav", "reminder.wav"]
        for reference in names {
            for heard in names where heard != reference {
                let share = try share(of: try Self.read(reference), in: silence(1) + Self.read(heard) + silence(2))
                #expect(share < 0.5, "\(reference) in \(heard): \(share)")
            }
        }
        #expect(try share(of: try Self.read("menu.wav"), in: silence(10)) == 0)
    }

    @Test func aPartIsAPart() throws {
        let reference = try Self.read("menu.wav")
        let half = try share(of: reference, in: silence(1) + reference.prefix(reference.count / 2) + silence(3))
        #expect((0.25...0.6).contains(half), "\(half)")
        // A start that was cut off.
        let late = try share(of: reference, in: reference.dropFirst(reference.count / 8) + silence(2))
        #expect((ReferenceMatcher.enough...0.99).contains(late), "\(late)")
    }

    /// As through a jitter buffer that grows in the middle, with every tenth packet gone.
    @Test func lossAndShiftsAreBorne() throws {
        let reference = try Self.read("menu.wav")
        let middle = reference.count / 2
        var heard = silence(0.5) + reference[..<middle] + silence(0.08) + reference[middle...] + silence(2)
        for packet in stride(from: 0, to: heard.count / 160, by: 10) {
            for sample in packet * 160..<packet * 160 + 160 { heard[sample] = 0 }
        }
        #expect(try share(of: reference, in: heard) > ReferenceMatcher.enough)
    }

    /// Whoever hangs up at the end of a prompt has been heard.
    @Test func nothingHasToFollow() throws {
        let reference = try Self.read("welcome.wav")
        #expect(try share(of: reference, in: silence(1) + reference + silence(0.25)) >= ReferenceMatcher.enough)
    }

    @Test func silenceIsNoReference() {
        #expect(ReferenceMatcher(AudioClip(samples: silence(3), rate: 8000)) == nil)
        #expect(ReferenceMatcher(AudioClip(samples: [], rate: 8000)) == nil)
    }
}
