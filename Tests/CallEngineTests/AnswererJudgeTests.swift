// Person or machine, decided by when there is speech: each limit from both sides.

import Basics
import CallEngine
import Testing

@Suite struct AnswererJudgeTests {
    /// Milliseconds of silence and speech in turn, silence first; after them it is quiet. The verdict and when it came.
    private func verdict(
        _ lengths: [Int], _ settings: AnswererSettings = AnswererSettings()
    ) -> (verdict: AnswererVerdict, at: Int)? {
        var judge = AnswererJudge(settings)
        var passed = 0
        for (index, length) in (lengths + [10_000]).enumerated() {
            for _ in 0..<length / 10 {
                passed += 10
                if let verdict = judge.take(isSpeech: index % 2 == 1, .milliseconds(10)) { return (verdict, passed) }
            }
        }
        return nil
    }

    @Test(arguments: [
        ([500, 600], AnswererVerdict.Answerer.human, AnswererVerdict.Reason.shortGreeting, 1900),
        // "Hello? - Anna here."
        ([800, 400, 300, 600], .human, .shortGreeting, 2900),
        ([300, 1490], .human, .shortGreeting, 2590),
        ([300, 1500], .machine, .longGreeting, 1800),
        // Pauses count as greeting.
        ([300, 700, 600, 400], .machine, .longGreeting, 1800),
        ([200, 150, 100, 150, 100, 150, 100, 150], .machine, .manyWords, 1050),
        ([200, 150, 100, 150, 100, 150, 1000], .human, .shortGreeting, 1650),
        ([2500], .unsure, .noSpeech, 2500),
        ([2400, 300], .human, .shortGreeting, 3500),
        // Clicks are no words.
        ([500, 60, 500, 60, 500, 60, 3000], .unsure, .noSpeech, 2500)
    ]) func byLength(lengths: [Int], answerer: AnswererVerdict.Answerer, reason: AnswererVerdict.Reason, at: Int) throws {
        let found = try #require(verdict(lengths))
        #expect(found.verdict == AnswererVerdict(answerer, reason), "\(lengths)")
        #expect(found.at == at, "\(lengths)")
    }

    @Test func eachLimitCounts() throws {
        func with(_ change: (inout AnswererSettings) -> Void) -> AnswererSettings {
            var settings = AnswererSettings()
            change(&settings)
            return settings
        }
        #expect(verdict([1200, 300], with { $0.initialSilence = .seconds(1) })?.verdict.reason == .noSpeech)
        #expect(verdict([300, 1800], with { $0.greeting = .seconds(2) })?.verdict.answerer == .human)
        #expect(verdict([300, 400, 500, 400], with { $0.afterGreeting = .milliseconds(400) })?.at == 1100)
        let words = [200, 150, 100, 150, 100, 150, 100, 150]
        #expect(verdict(words, with { $0.words = 5 })?.verdict.answerer == .human)
        #expect(verdict(words, with { $0.word = .milliseconds(200) })?.verdict.reason == .noSpeech)
        // Pauses that are too short part no words.
        #expect(verdict(words, with { $0.pause = .milliseconds(200) })?.verdict.answerer == .human)
        let long = with {
            $0.greeting = .seconds(60)
            $0.words = 100
        }
        #expect(verdict([300, 8000], long)?.verdict == AnswererVerdict(.unsure, .undecided))
        #expect(verdict([300, 8000], long)?.at == 5000)
        #expect(
            verdict(
                [300, 8000],
                with {
                    $0 = long; $0.total = .seconds(3)
                })?.at == 3000)
    }
}
