// Each line of the table of `collect` in virtual time, on the machine itself.

import Basics
import CallEngine
import FlowEngine
import Testing

/// Turns the machine's clock by hand and writes down what it does: "0.0 play first", "1.2 stop", "2.0 complete 123".
private struct Bench {
    var machine: CollectMachine
    private(set) var log: [String] = []
    private(set) var result: CollectResult?

    init(_ change: (inout CollectSettings) -> Void = { _ in }, typed: String = "") {
        var settings = CollectSettings()
        settings.prompts = [.first]
        change(&settings)
        machine = CollectMachine(settings)
        let before = typed.compactMap { Digit($0) }.flatMap { digit in
            [DigitEvent.Phase.began, .ended].map { DigitEvent(digit: digit, phase: $0, source: .rfc4733, at: .zero) }
        }
        note(machine.start(at: .zero, typed: before), at: 0)
    }

    /// Presses keys 100 ms long, 100 ms apart, from `seconds` on.
    mutating func press(_ keys: String, at seconds: Double, hold: Double = 0.1, source: DigitSource = .rfc4733) {
        var time = seconds
        for key in keys {
            down(key, at: time, source: source)
            up(key, at: time + hold, source: source)
            time += hold + 0.1
        }
    }

    mutating func down(_ key: Character, at seconds: Double, source: DigitSource = .rfc4733) {
        send(key, .began, seconds, source)
    }
    mutating func up(_ key: Character, at seconds: Double, source: DigitSource = .rfc4733) { send(key, .ended, seconds, source) }

    private mutating func send(_ key: Character, _ phase: DigitEvent.Phase, _ seconds: Double, _ source: DigitSource) {
        run(until: seconds)
        note(machine.digit(DigitEvent(digit: Digit(key)!, phase: phase, source: source, at: instant(seconds))), at: seconds)
    }

    mutating func promptEnds(at seconds: Double) {
        run(until: seconds)
        note(machine.promptEnded(at: instant(seconds)), at: seconds)
    }

    /// Lets deadlines before (not at) `seconds` come.
    mutating func run(until seconds: Double) {
        while let due = machine.nextDeadline, due < instant(seconds) {
            note(machine.deadline(at: due), at: (due - .zero).seconds)
        }
    }

    private func instant(_ seconds: Double) -> Instant { .zero + .milliseconds(Int64((seconds * 1000).rounded())) }

    private mutating func note(_ actions: [CollectMachine.Action], at seconds: Double) {
        for action in actions {
            switch action {
            case .play(let prompts): log.append("\(seconds) play \(prompts.map(\.rawValue).joined(separator: "+"))")
            case .stopPrompt: log.append("\(seconds) stop")
            case .finish(let result):
                #expect(self.result == nil)
                self.result = result
                log.append("\(seconds) \(result.reason.rawValue) \(result.value)")
            }
        }
    }
}

@Suite struct CollectMachineTests {
    // MARK: digits, min, max

    @Test func oneDigitIsTheDefault() {
        var bench = Bench()
        bench.promptEnds(at: 2)
        bench.press("4", at: 3)
        #expect(bench.log == ["0.0 play first", "3.0 complete 4"])
        #expect(bench.result?.keys == "4" && bench.result?.source == .rfc4733 && bench.result?.took == .seconds(3))
    }

    @Test func reachingMaxEndsAtOnceEvenWhileTheKeyIsDown() {
        var bench = Bench { $0.max = 3 }
        bench.promptEnds(at: 1)
        bench.press("12", at: 2)
        bench.down("3", at: 3)
        #expect(bench.log.last == "3.0 complete 123")
    }

    // MARK: allow

    @Test func keysOutsideAllowTouchNeitherPromptNorTimers() {
        var bench = Bench {
            $0.allow = CollectSettings.digits("123"); $0.max = 2
        }
        bench.press("9", at: 1)
        bench.promptEnds(at: 2)
        bench.press("8", at: 6)
        bench.run(until: 7.5)
        // first-digit ran from the end of the prompt: 2 + 5, whatever was pressed.
        #expect(bench.log == ["0.0 play first", "7.0 play first"])
        bench.promptEnds(at: 8)
        bench.press("1", at: 9)
        bench.press("7", at: 10)
        bench.press("2", at: 11)
        #expect(bench.result?.value == "12" && bench.result?.ignored == "987")
    }

    @Test func ignoredKeysDoNotRestartBetween() {
        var bench = Bench {
            $0.allow = CollectSettings.digits("123"); $0.max = 4
        }
        bench.promptEnds(at: 1)
        bench.press("1", at: 2)
        bench.press("9", at: 4)
        bench.run(until: 6)
        #expect(bench.log.last == "5.1 timeout 1")
    }

    // MARK: pattern, choices

    @Test func anEntryThatNoChoiceTakesIsInvalid() {
        var bench = Bench {
            $0.judge = { ["1", "2"].firstIndex(of: $0) }
            $0.prompts = [.first, .invalid, .repeat, .goodbye]
        }
        bench.promptEnds(at: 1)
        bench.press("7", at: 2)
        #expect(bench.log.last == "2.0 play invalid+repeat")
        bench.press("2", at: 3)
        #expect(bench.log.last == "3.0 complete 2")
        #expect(bench.result?.choice == 1)
    }

    @Test func theWholeEntryIsJudgedHoweverItEnded() {
        for way in ["finish", "timeout", "max"] {
            var bench = Bench {
                $0.judge = { _ in nil }; $0.max = 2; $0.prompts = [.first, .invalid]
            }
            bench.promptEnds(at: 1)
            bench.press(way == "finish" ? "1#" : way == "max" ? "12" : "1", at: 2)
            bench.run(until: 20)
            #expect(bench.log.contains { $0.hasSuffix("play invalid+first") }, "\(way)")
        }
    }

    // MARK: finish-on

    @Test func theFinishKeyEndsAndIsNoPartOfTheEntry() {
        var bench = Bench { $0.max = 10 }
        bench.promptEnds(at: 1)
        bench.press("12#", at: 2)
        #expect(bench.result?.value == "12" && bench.result?.reason == .finished && bench.result?.keys == "12#")
    }

    @Test func tooFewDigitsBeforeTheFinishKeyAreInvalid() {
        var bench = Bench {
            $0.min = 3; $0.max = 5; $0.invalidTries = 1
        }
        bench.promptEnds(at: 1)
        bench.press("12#", at: 2)
        #expect(bench.result?.reason == .invalid && bench.result?.value == "")
    }

    @Test func withoutAFinishKeyItIsADigit() {
        var bench = Bench {
            $0.max = 2; $0.finishOn = nil
        }
        bench.promptEnds(at: 1)
        bench.press("1#", at: 2)
        #expect(bench.result?.value == "1#" && bench.result?.reason == .complete)
    }

    @Test func aLoneFinishKeyIsAnEmptyEntryWhereMinIsNought() {
        var bench = Bench {
            $0.min = 0; $0.max = 4
        }
        bench.press("#", at: 1)
        #expect(bench.log == ["0.0 play first", "1.0 stop", "1.0 finished "])
    }

    // MARK: first-digit

    @Test func firstDigitRunsFromTheEndOfThePrompt() {
        var bench = Bench { $0.silenceTries = 1 }
        bench.run(until: 60)
        #expect(bench.result == nil)
        bench.promptEnds(at: 60)
        bench.run(until: 100)
        #expect(bench.log.last == "65.0 silence ")
    }

    @Test func withoutAPromptItRunsAtOnce() {
        var bench = Bench {
            $0.prompts = []; $0.silenceTries = 2
        }
        bench.run(until: 100)
        #expect(bench.log == ["10.0 silence "])
    }

    // MARK: between

    @Test func betweenReplacesFirstDigitAndRunsFromTheEndOfAKey() {
        var bench = Bench {
            $0.max = 9; $0.min = 2
        }
        bench.promptEnds(at: 1)
        bench.press("1", at: 2, hold: 4)
        bench.press("2", at: 8.9)
        bench.run(until: 20)
        #expect(bench.log.last == "12.0 timeout 12")
    }

    @Test func noTimerRunsWhileAKeyIsDown() {
        var bench = Bench { $0.max = 9 }
        bench.promptEnds(at: 1)
        bench.down("1", at: 2)
        bench.run(until: 30)
        #expect(bench.result == nil)
        bench.up("1", at: 30)
        bench.run(until: 60)
        #expect(bench.log.last == "33.0 timeout 1")
    }

    @Test func fewerThanMinAtItsEndAreInvalid() {
        var bench = Bench {
            $0.min = 4; $0.max = 4; $0.prompts = [.first, .invalid]
        }
        bench.promptEnds(at: 1)
        bench.press("12", at: 2)
        bench.run(until: 10)
        #expect(bench.log.last == "5.3 play invalid+first")
    }

    // MARK: within

    @Test func withinRunsFromTheEndOfThePrompt() {
        var bench = Bench {
            $0.within = .seconds(4); $0.silenceTries = 1
        }
        bench.promptEnds(at: 10)
        bench.run(until: 30)
        #expect(bench.log.last == "14.0 silence ")
    }

    @Test func withinRunsFromTheFirstDigitWhenThatIsEarlier() {
        var bench = Bench {
            $0.within = .seconds(4); $0.max = 20; $0.min = 2
        }
        for second in 1...4 { bench.press("1", at: Double(second)) }
        bench.run(until: 30)
        #expect(bench.log == ["0.0 play first", "1.0 stop", "5.0 timeout 1111"])
    }

    @Test func withinWithTooFewDigitsIsInvalid() {
        var bench = Bench {
            $0.within = .seconds(2); $0.max = 9; $0.min = 5; $0.invalidTries = 1
        }
        bench.press("12", at: 1)
        bench.run(until: 30)
        #expect(bench.log.last == "3.0 invalid ")
    }

    // MARK: barge-in

    @Test func aKeyCutsThePromptAtItsFirstPacket() {
        var bench = Bench { $0.max = 2 }
        bench.down("5", at: 0.7)
        #expect(bench.log == ["0.0 play first", "0.7 stop"])
        bench.up("5", at: 0.8)
        bench.run(until: 20)
        #expect(bench.log.last == "3.8 timeout 5")
    }

    @Test func offMeansOff() {
        var bench = Bench {
            $0.bargeIn = .none; $0.max = 2
        }
        bench.press("12", at: 1)
        #expect(bench.log == ["0.0 play first"])
        bench.promptEnds(at: 5)
        #expect(bench.log.last == "5.0 complete 12")
    }

    @Test func onlyTheListedKeysCut() {
        var bench = Bench {
            $0.bargeIn = .keys(CollectSettings.digits("*")); $0.max = 3
        }
        bench.press("1", at: 1)
        bench.press("*", at: 2)
        #expect(bench.log == ["0.0 play first", "2.0 stop"])
        bench.press("3", at: 3)
        #expect(bench.result?.value == "1*3")
    }

    // MARK: type-ahead

    @Test func typedAheadComesFirst() {
        var bench = Bench({ $0.max = 3 }, typed: "12")
        #expect(bench.log == ["0.0 play first"])
        bench.press("3", at: 1)
        #expect(bench.result?.value == "123")
    }

    @Test func noPromptPlaysWhenTypeAheadCompletesTheEntry() {
        let bench = Bench({ $0.max = 2 }, typed: "123")
        #expect(bench.log == ["0.0 complete 12"])
        #expect(bench.machine.unused.filter { $0.phase == .began }.map(\.digit.description) == ["3"])
    }

    @Test func typeAheadCanBeDropped() {
        var bench = Bench(
            {
                $0.max = 2; $0.typeAhead = false
            }, typed: "12")
        #expect(bench.log == ["0.0 play first"])
        bench.press("34", at: 1)
        #expect(bench.result?.value == "34")
    }

    @Test func betweenOfAPartialTypeAheadStartsAtTheEndOfThePrompt() {
        var bench = Bench({ $0.max = 3 }, typed: "1")
        bench.promptEnds(at: 10)
        bench.run(until: 30)
        #expect(bench.log.last == "13.0 timeout 1")
    }

    // MARK: during-prompt

    @Test func keptDigitsAreDeliveredAtTheEndAndBetweenStartsThen() {
        var bench = Bench {
            $0.bargeIn = .none; $0.max = 3
        }
        bench.press("1", at: 1)
        bench.promptEnds(at: 9)
        bench.run(until: 11.9)
        #expect(bench.result == nil)
        bench.run(until: 20)
        #expect(bench.log.last == "12.0 timeout 1")
    }

    @Test func aKeptKeyThatIsStillDownHoldsBetween() {
        var bench = Bench {
            $0.bargeIn = .none; $0.max = 3
        }
        bench.down("1", at: 1)
        bench.promptEnds(at: 2)
        bench.up("1", at: 7)
        bench.run(until: 20)
        #expect(bench.log.last == "10.0 timeout 1")
    }

    @Test func droppedDigitsAreForgotten() {
        var bench = Bench {
            $0.bargeIn = .none; $0.duringPrompt = .drop; $0.silenceTries = 1
        }
        bench.press("1", at: 1)
        bench.promptEnds(at: 2)
        bench.run(until: 20)
        #expect(bench.log.last == "7.0 silence ")
    }

    // MARK: tries

    @Test func silenceAndInvalidAreTwoCounters() {
        var bench = Bench {
            $0.silenceTries = 2
            $0.invalidTries = 2
            $0.prompts = Set(CollectSettings.Prompt.allCases)
            $0.judge = { $0 == "1" ? 0 : nil }
        }
        bench.promptEnds(at: 1)
        bench.run(until: 7)
        #expect(bench.log.last == "6.0 play silence+repeat")
        bench.promptEnds(at: 8)
        bench.press("9", at: 9)
        #expect(bench.log.last == "9.0 play invalid+repeat")
        bench.promptEnds(at: 10)
        bench.run(until: 16)
        // The second silence uses its counter up: its prompt, then goodbye, then the result.
        #expect(bench.log.last == "15.0 play silence+goodbye")
        bench.promptEnds(at: 18)
        #expect(bench.log.last == "18.0 silence ")
    }

    @Test func withoutRepeatTheFirstPromptIsPlayedAgain() {
        var bench = Bench {
            $0.prompts = [.first, .invalid]; $0.judge = { $0 == "1" ? 0 : nil }
        }
        bench.press("2", at: 1)
        #expect(bench.log.last == "1.0 play invalid+first")
    }

    @Test func keysDuringTheGoodbyeAreLeftForTheNextStep() {
        var bench = Bench {
            $0.silenceTries = 1; $0.prompts = [.goodbye]
        }
        bench.run(until: 6)
        bench.press("5", at: 6)
        bench.promptEnds(at: 8)
        #expect(bench.result?.reason == .silence)
        #expect(bench.machine.unused.count == 2)
    }

    // MARK: sources

    @Test func onlyTheChosenSourcesCount() {
        var bench = Bench {
            $0.sources = [.rfc4733]; $0.max = 2
        }
        bench.press("1", at: 1, source: .info)
        bench.press("2", at: 2, source: .inband)
        #expect(bench.log == ["0.0 play first"])
        bench.press("34", at: 3)
        #expect(bench.result?.value == "34" && bench.result?.source == .rfc4733 && bench.result?.ignored == "")
    }

    // MARK: Keys

    @Test func aHeldKeyIsOneDigitAndThreePressesAreThree() {
        var bench = Bench { $0.max = 4 }
        bench.press("0", at: 1, hold: 5)
        bench.press("00", at: 7)
        bench.press("1", at: 8)
        #expect(bench.result?.value == "0001")
    }

    @Test func anEndWithoutABeginningIsNothing() {
        var bench = Bench { $0.max = 2 }
        bench.up("5", at: 1)
        bench.promptEnds(at: 2)
        bench.up("5", at: 3)
        bench.run(until: 7.5)
        #expect(bench.log == ["0.0 play first", "7.0 play first"])
    }
}
