// A recording of the other side is known again, through codecs and loss; another is not.

import Audio
import Basics
import CallEngine
import Reactor
import TestKit
import Testing

@Suite struct ReferenceListeningTests {
    /// What is told of this reference while the other side plays that.
    private func events(
        reference: String, played: String, codec: String = "pcmu", loss: Double = 0, for length: Duration = .seconds(12)
    ) throws -> [ListenEvent] {
        let world = MediaWorld(seed: 5)
        world.network.impairment.loss = loss
        world.network.impairment.delay = .milliseconds(30)
        world.network.impairment.jitter = loss > 0 ? .milliseconds(30) : .zero
        let (left, right) = try world.pair(codecs: [codec])
        var request = ListenRequest()
        request.reference = reference
        var events: [ListenEvent] = []
        let listening = right.listen(request)
        listening.onEvent = { events.append($0) }
        world.run(.seconds(1))
        _ = left.play(PlaybackRequest([.file(path: prompt(played))]))
        world.run(length)
        listening.stop()
        world.end()
        return events
    }

    private func share(_ events: [ListenEvent]) -> Double {
        events.reduce(0) { if case .reference(let share, _) = $1 { max($0, share) } else { $0 } }
    }

    @Test(arguments: ["pcmu", "pcma", "g722", "opus"], [0.0, 0.05]) func itIsKnownAgain(codec: String, loss: Double) throws {
        let share = share(try events(reference: prompt("menu.wav"), played: "menu.wav", codec: codec, loss: loss))
        #expect(share >= (loss > 0 ? ListenRequest.enoughOfReference : 0.95), "\(share)")
    }

    @Test(arguments: ["pcmu", "opus"]) func anotherIsNot(codec: String) throws {
        let share = share(try events(reference: prompt("menu.wav"), played: "welcome.wav", codec: codec))
        #expect(share < 0.5, "\(share)")
    }

    /// A playback that breaks off is a part, and no more comes of waiting.
    @Test func aPartIsAPart() throws {
        let whole = try PromptFile.read(prompt("menu.wav")).length
        let events = try events(reference: prompt("menu.wav"), played: "menu.wav", for: whole / 2)
        #expect((0.05...0.6).contains(share(events)), "\(share(events))")
    }

    @Test func whatCannotBeLookedForSaysWhy() throws {
        let silent = temporaryFile("silent.wav")
        let writer = try WaveWriter(path: silent, rate: 8000, channels: 1)
        AudioClip.silence(.seconds(2), rate: 8000).samples.withUnsafeBufferPointer { _ = writer.append($0) }
        _ = writer.finish()
        let files = [silent, temporaryFile("nowhere.wav"), #filePath]
        let reasons = try files.map { try events(reference: $0, played: "menu.wav", for: .seconds(2)) }
        #expect(reasons[0] == [.referenceFailed("\(silent): there is no sound in it")])
        for (file, reason) in zip(files, reasons) {
            #expect(reason.count == 1)
            guard case .referenceFailed(let why)? = reason.first else {
                Issue.record("\(reason)")
                continue
            }
            #expect(why.hasPrefix(file), "\(why)")
        }
    }
}
