// Prompts that have to be got first: played when they come, told when they do not, forgotten when nobody waits any more.

import CallEngine
import Reactor
import Testing

/// Gives what the test says, when the test says it.
private final class SlowSupply: PromptSupply {
    private typealias Answer = @Sendable (Result<String, PromptUnavailable>) -> Void
    private let waiting = Locked<[Answer]>([])
    let asked = Locked(0)

    func file(of origin: PromptOrigin, then: @escaping @Sendable (Result<String, PromptUnavailable>) -> Void) {
        asked.withLock { $0 += 1 }
        waiting.withLock { $0.append(then) }
    }

    func give(_ result: Result<String, PromptUnavailable>) {
        let all = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for then in all { then(result) }
    }
}

@Suite struct PromptSupplyTests {
    private let origin = AudioSource.supplied(.web(url: "https://example.com/a.wav?token=1", shown: "https://example.com/a.wav"))

    @Test func itPlaysWhenItIsThere() throws {
        let supply = SlowSupply()
        let world = MediaWorld(supply: supply)
        let (left, right) = try world.pair()
        let playback = left.play(
            PlaybackRequest([origin, .silence(.milliseconds(100))], from: .milliseconds(500), until: .milliseconds(900)))
        world.run(.seconds(1))
        // Nothing of it was sent, and the stream goes on.
        #expect(playback.end == nil && playback.played == .zero && right.report.received > 40)
        supply.give(.success(prompt("welcome.wav")))
        world.run(.seconds(1))
        #expect(playback.end == .finished && playback.played == .milliseconds(500))
        #expect(right.report.lost == 0 && right.report.late == 0)
        // The next one asks again: it may have changed.
        let second = left.play(PlaybackRequest([origin]))
        #expect(supply.asked.withLock { $0 } == 2)
        second.stop()
        world.end()
    }

    @Test func aFailureIsToldOnce() throws {
        let supply = SlowSupply()
        let world = MediaWorld(supply: supply)
        let (left, _) = try world.pair()
        let playback = left.play(PlaybackRequest([.file(path: prompt("welcome.wav")), origin, origin]))
        var ends: [PlaybackEnd] = []
        playback.onEnd = { ends.append($0) }
        supply.give(.failure(PromptUnavailable("https://example.com/a.wav: the server answered 404")))
        world.run(.seconds(1))
        #expect(ends == [.failed("https://example.com/a.wav: the server answered 404")])
        #expect(playback.played == .zero)
        world.end()
    }

    @Test func whoIsGoneIsNotPlayedTo() throws {
        let supply = SlowSupply()
        let world = MediaWorld(supply: supply)
        let (left, _) = try world.pair()
        let stopped = left.play(PlaybackRequest([origin]))
        stopped.stop()
        let replaced = left.play(PlaybackRequest([origin]))
        let cut = left.play(PlaybackRequest([origin]))
        #expect(replaced.end == .stopped)
        left.close()
        #expect(cut.end == .stopped)
        supply.give(.success(prompt("welcome.wav")))
        world.run(.seconds(1))
        #expect(stopped.end == .stopped && stopped.played == .zero && cut.played == .zero)
        world.end()
    }

    /// What was asked for is named, not the file that it became; and a text that nobody could hear is not spoken.
    @Test func whatACallCannotPlayIsToldByItsOwnName() throws {
        let supply = SlowSupply()
        let world = MediaWorld(supply: supply)
        let (left, _) = try world.pair(codecs: ["g729"])
        let playback = left.play(PlaybackRequest([origin]))
        supply.give(.success(prompt("welcome.wav")))
        world.run(.milliseconds(100))
        guard case .failed(let reason) = playback.end else {
            Issue.record("\(String(describing: playback.end))")
            return
        }
        #expect(reason.hasPrefix("https://example.com/a.wav: the call speaks G729"), "\(reason)")
        let spoken = left.play(PlaybackRequest([.supplied(.speech(Utterance(text: "a", language: "en", shown: "a")))]))
        #expect(spoken.end == .failed("the call speaks G729, into which nothing can be encoded"))
        #expect(supply.asked.withLock { $0 } == 1)
        world.end()
    }

    @Test func withoutASupplyItIsRefused() throws {
        let world = MediaWorld()
        let (left, _) = try world.pair()
        let playback = left.play(PlaybackRequest([origin]))
        #expect(playback.end == .failed("https://example.com/a.wav: prompts of this kind cannot be got here"))
        world.end()
    }
}
