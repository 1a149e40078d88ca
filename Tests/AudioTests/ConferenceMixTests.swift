import Audio
import Testing

@Suite struct ConferenceMixTests {
    private func heard(_ mix: ConferenceMix, but own: [Int16]? = nil) -> [Int16] {
        var output = [Int16](repeating: 1, count: mix.count)
        output.withUnsafeMutableBufferPointer { output in
            guard let own else { return mix.everybody(into: output) }
            own.withUnsafeBufferPointer { mix.everybody(but: $0, into: output) }
        }
        return output
    }

    @Test func eachHearsTheSumWithoutHimself() {
        var mix = ConferenceMix(count: 3)
        let voices: [[Int16]] = [[100, -200, 30_000], [1, 2, 20_000], [-5, 7, -32_768]]
        for voice in voices { voice.withUnsafeBufferPointer { mix.add($0) } }
        #expect(heard(mix) == [96, -191, 17_232])
        #expect(heard(mix, but: voices[0]) == [-4, 9, -12_768])
        #expect(heard(mix, but: voices[2]) == [101, -198, 32_767], "limited, not wrapped")
        mix.clear()
        #expect(heard(mix) == [0, 0, 0])
    }

    @Test func aVoiceComesBackWholeAfterALoudSum() {
        var mix = ConferenceMix(count: 2)
        let (loud, quiet): ([Int16], [Int16]) = ([32_767, -32_768], [12, -12])
        for _ in 0..<50 { loud.withUnsafeBufferPointer { mix.add($0) } }
        quiet.withUnsafeBufferPointer { mix.add($0) }
        #expect(heard(mix) == [32_767, -32_768])
        var alone = ConferenceMix(count: 2)
        loud.withUnsafeBufferPointer { alone.add($0) }
        quiet.withUnsafeBufferPointer { alone.add($0) }
        #expect(heard(alone, but: loud) == quiet)
    }

    @Test func whatIsTooShortOrTooLongIsTakenAsFarAsItGoes() {
        var mix = ConferenceMix(count: 2)
        ([5] as [Int16]).withUnsafeBufferPointer { mix.add($0) }
        ([1, 2, 3] as [Int16]).withUnsafeBufferPointer { mix.add($0) }
        #expect(heard(mix) == [6, 2])
        #expect(heard(mix, but: [5]) == [1, 2])
    }

    @Test func louderIsLimited() {
        var samples: [Int16] = [100, -20_000, 20_000]
        samples.withUnsafeMutableBufferPointer { $0.amplify(by: 2) }
        #expect(samples == [200, -32_768, 32_767])
    }
}

@Suite struct SpeakerElectionTests {
    /// Hears blocks with these voices; who spoke after each.
    private func run(_ election: inout SpeakerElection, _ blocks: Int, _ voices: [Int: Double]) -> [Int?] {
        (0..<blocks).map { _ in
            let loudest = voices.max { $0.value < $1.value }.map { SpeakerElection.Voice(id: $0.key, level: $0.value) }
            let before = election.speaker
            let current = before.flatMap { voices[$0] }
            let isOther = election.hear(loudest: loudest, current: current)
            #expect(isOther == (election.speaker != before))
            return election.speaker
        }
    }

    @Test func aShortSoundIsNoSpeech() {
        var election = SpeakerElection()
        #expect(run(&election, 2, [1: -20]) == [nil, nil])
        #expect(run(&election, 1, [1: -60]) == [nil])
        #expect(run(&election, 3, [1: -20]) == [nil, nil, 1])
        #expect(run(&election, 9, [1: -20, 2: -10]).last == 1)
        #expect(run(&election, 1, [1: -20, 2: -60]) == [1])
        #expect(run(&election, 9, [1: -20, 2: -10]).last == 1)
        #expect(run(&election, 1, [1: -20, 2: -10]) == [2])
    }

    @Test func pausesKeepTheFloorAndSilenceLosesIt() {
        var election = SpeakerElection()
        _ = run(&election, 3, [1: -20, 2: -60])
        #expect(run(&election, 49, [1: -60, 2: -60]).allSatisfy { $0 == 1 })
        #expect(run(&election, 1, [1: -20, 2: -60]) == [1])
        #expect(run(&election, 50, [1: -60, 2: -60]).last == .some(nil))
        // Who is only as loud as the pause of another one takes over in it.
        _ = run(&election, 3, [1: -20])
        #expect(run(&election, 10, [1: -60, 2: -30]).last == 2)
    }

    @Test func whoLeavesSpeaksNoMore() {
        var election = SpeakerElection()
        _ = run(&election, 3, [1: -20, 2: -60])
        #expect(run(&election, 1, [2: -60]) == [nil])
        #expect(run(&election, 1, [:]) == [nil])
    }

    @Test func levelsRiseFastAndFallSlowly() {
        #expect(SpeakerElection.smoothed(-20, after: -60) == -40)
        #expect(SpeakerElection.smoothed(-.infinity, after: -20) == -23)
        #expect(SpeakerElection.smoothed(-.infinity, after: -90) == -90)
    }
}
