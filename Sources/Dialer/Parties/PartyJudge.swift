// Do both halves of a test agree? Each question is an expectation with its answer, named so that a report tells which half missed what,
// and in which direction. Pure, but for the reading of recordings.

import Audio
import Basics
import CallEngine
package import FlowEngine

package enum PartyJudge {
    // MARK: Audio

    /// Compares the recordings of both halves. Reads files.
    package static func listen(_ outcome: PartyOutcome) -> PartyOutcome {
        var outcome = outcome
        guard outcome.parties.contains(where: { $0.half?.recording != nil }), let caller = sides(of: &outcome.caller) else {
            return outcome
        }
        for index in outcome.parties.indices where outcome.parties[index].plan.comparesAudio {
            guard var half = outcome.parties[index].half else { continue }
            let party = sides(of: &half)
            outcome.parties[index].half = half
            guard let party, let span = both(outcome.caller, half) else { continue }
            outcome.parties[index].heard = PartySound.compare(caller.said, heard: party.heard, during: span)
            outcome.parties[index].wasHeard = PartySound.compare(party.said, heard: caller.heard, during: span)
        }
        return outcome
    }

    /// Nobody could compare the recordings: that is told, since packets alone do not say what was heard.
    package static func unheard(_ outcome: PartyOutcome, why: String) -> PartyOutcome {
        func mark(_ half: inout PartyHalf) {
            guard half.recording != nil, half.recordingFailure.isEmpty else { return }
            half.recordingFailure = "its recording was not listened to: \(why)"
        }
        var outcome = outcome
        mark(&outcome.caller)
        for index in outcome.parties.indices {
            guard var half = outcome.parties[index].half else { continue }
            mark(&half)
            outcome.parties[index].half = half
        }
        return outcome
    }

    private static func sides(of half: inout PartyHalf) -> (said: PartySound.Side, heard: PartySound.Side)? {
        guard let recording = half.recording, let start = half.recordedFrom, half.recordingFailure.isEmpty else { return nil }
        // Too short a call has no audio.
        guard recording.length > .zero else { return nil }
        do throws(PromptError) {
            return (
                PartySound.Side(try PromptFile.read(recording.path, channel: 1), start: start),
                PartySound.Side(try PromptFile.read(recording.path, channel: 0), start: start)
            )
        } catch {
            half.recordingFailure = "\(error)"
            return nil
        }
    }

    /// When both halves were answered and not yet over.
    private static func both(_ caller: PartyHalf, _ party: PartyHalf) -> ClosedRange<Instant>? {
        guard let one = caller.talk, let other = party.talk, one.overlaps(other) else { return nil }
        return one.clamped(to: other)
    }

    // MARK: Expectations

    /// What both halves have to agree about, beside the expectations of their flows.
    package static func expectations(_ outcome: PartyOutcome) -> [Expectation] {
        // What was not recorded cannot have agreed.
        var all = outcome.halves.filter { !$0.recordingFailure.isEmpty }.map {
            Expectation(name: "\($0.name) is recorded", passed: false, actual: $0.recordingFailure)
        }
        for party in outcome.parties {
            all += calling(party)
            guard let half = party.half else { continue }
            all += half.outcome.expectations.map {
                Expectation(name: "\(party.name): \($0.name)", passed: $0.passed, actual: $0.actual)
            }
            all += ending(half)
            if party.plan.agrees.contains(.hangUp) { all += hangUp(outcome, half) }
            guard let span = both(outcome.caller, half) else { continue }
            if party.plan.agrees.contains(.digits) { all += digits(outcome, half, span) }
            if party.plan.agrees.contains(.audio) { all += audio(outcome.caller, party, half, span) }
        }
        return all + outcome.strays.map { Expectation(name: "only the parties are called", passed: false, actual: $0) }
    }

    private static func calling(_ party: PartyReport) -> [Expectation] {
        var all: [Expectation] = []
        let when = party.setUp.map { "after \(words($0))" } ?? "was not called"
        switch party.plan.calls {
        case .never:
            let actual = party.calls == 0 ? "was not called" : "was called \(when)"
            all.append(Expectation(name: "\(party.name) is not called", passed: party.calls == 0, actual: actual))
        case .once, .perhaps:
            if party.calls == 0, party.plan.calls == .perhaps { return [] }
            let isLate = party.setUp.map { $0 > party.plan.within } ?? false
            all.append(
                Expectation(
                    name: "\(party.name) is called", passed: party.calls > 0 && !isLate,
                    actual: isLate ? "\(when), later than \(FlowDuration.print(party.plan.within))" : when))
            if party.calls > 1 {
                all.append(Expectation(name: "\(party.name) is called once", passed: false, actual: "\(party.calls) times"))
            }
        }
        if let wanted = party.wanted, let number = party.number, !PartyBoard.isSame(wanted, number) {
            all.append(Expectation(name: "\(party.name) is called at \(wanted)", passed: false, actual: "at \(number)"))
        }
        return all
    }

    /// An end that no flow asked for.
    private static func ending(_ half: PartyHalf) -> [Expectation] {
        let flow = half.outcome
        guard flow.result == .error || [.mediaTimeout, .error].contains(half.end.cause) else { return [] }
        let why = flow.error.map { "\($0)" } ?? half.end.detail
        return [
            Expectation(
                name: "\(half.name) ends as it should", passed: false,
                actual: why.isEmpty ? half.end.cause.rawValue : "\(half.end.cause.rawValue): \(why)")
        ]
    }

    private static func digits(_ outcome: PartyOutcome, _ half: PartyHalf, _ span: ClosedRange<Instant>) -> [Expectation] {
        guard !outcome.hasSecretKeys else { return [] }
        let caller = outcome.caller
        var all: [Expectation] = []
        let pressed = caller.keysSent.filter { span.contains($0.at) }.map(\.keys).joined()
        if !pressed.isEmpty || !half.digitsReceived.isEmpty {
            all.append(keys(pressed, half.digitsReceived, from: "caller", to: half.name))
        }
        // With several parties the caller hears the keys of all of them: those are compared once, with the last that was answered.
        let talking = outcome.parties.compactMap(\.half).filter(\.wasAnswered)
        guard talking.last?.name == half.name else { return all }
        let answered = talking.flatMap(\.keysSent).sorted { $0.at < $1.at }.map(\.keys).joined()
        if !answered.isEmpty || !caller.digitsReceived.isEmpty {
            let names = talking.filter { !$0.keysSent.isEmpty }.map(\.name).joined(separator: ", ")
            all.append(keys(answered, caller.digitsReceived, from: names.isEmpty ? half.name : names, to: "caller"))
        }
        return all
    }

    private static func keys(_ sent: String, _ heard: String, from: String, to: String) -> Expectation {
        Expectation(
            name: "\(to) hears \(sent.isEmpty ? "no keys" : "the keys \(sent)") of \(from)", passed: sent == heard,
            actual: heard.isEmpty ? "none" : heard)
    }

    private static func audio(
        _ caller: PartyHalf, _ party: PartyReport, _ half: PartyHalf, _ span: ClosedRange<Instant>
    ) -> [Expectation] {
        [hears(half, caller, party.heard, span), hears(caller, half, party.wasHeard, span)].compactMap { $0 }
    }

    /// Whether `listener` heard `speaker`: by its sound where that was compared, by packets otherwise.
    private static func hears(
        _ listener: PartyHalf, _ speaker: PartyHalf, _ sound: PartySound.Comparison?, _ span: ClosedRange<Instant>
    ) -> Expectation? {
        let name = "\(listener.name) hears \(speaker.name)"
        if listener.info.media.received == 0 {
            // Too short a call has no audio to miss.
            guard span.upperBound - span.lowerBound >= .seconds(1) else { return nil }
            let sent = speaker.info.media.sent
            return Expectation(
                name: name, passed: false,
                actual: sent == 0 ? "one way: \(speaker.name) sent nothing" : "one way: none of \(sent) packets came")
        }
        guard let sound, sound.said > .zero else { return nil }
        let share = "\(seconds(sound.heard)) of \(seconds(sound.said)) s"
        return Expectation(
            name: name, passed: sound.passed, actual: sound.latency.map { "\(share), \(words($0)) later" } ?? share)
    }

    private static func hangUp(_ outcome: PartyOutcome, _ half: PartyHalf) -> [Expectation] {
        let caller = outcome.caller
        func name(_ from: String, _ to: String) -> String { "the hang-up of \(from) reaches \(to)" }
        if let lost = outcome.lostByes.first(where: { $0.from == half.name || $0.to == half.name }) {
            let missing = half.wasAnswered ? "no BYE" : "neither CANCEL nor BYE"
            return [
                Expectation(
                    name: name(lost.from, lost.to), passed: false,
                    actual: "\(missing) came within \(FlowDuration.print(PartyTest.patience))")
            ]
        }
        // Both hung up at once, or neither did: nothing was to be passed on.
        guard caller.hungUp != half.hungUp, half.wasAnswered else { return [] }
        let (first, last) = caller.hungUp ? (caller, half) : (half, caller)
        guard let began = first.info.ended, let ended = last.info.ended else { return [] }
        return [Expectation(name: name(first.name, last.name), passed: true, actual: "after \(words(max(.zero, ended - began)))")]
    }

    private static func words(_ duration: Duration) -> String { "\(Int(duration.milliseconds.rounded())) ms" }
    private static func seconds(_ duration: Duration) -> String { JSONText.number(duration.seconds, digits: 1).text }
}
