// Plays the far side of a case: does its steps one after the other, waits for prompts and keys.

import Basics
import CallEngine
import Reactor

final class FarSide {
    private let call: SimulatedCall
    private let script: [FarSideStep]
    private let name: String
    private var task: LoopTask?
    /// What the flow played so far; `hears` looks on from where the last one matched.
    private var sounds: [(name: String, whole: Bool)] = []
    private var next = 0
    private var received = ""
    private var change: Waiter<Void>?
    private var waitingFor: String?
    var onStep: ((String) -> Void)?
    /// The script could not go on: what it waited for never came.
    var onStuck: ((String) -> Void)?

    init(call: SimulatedCall, script: [FarSideStep], name: String) {
        self.call = call
        self.script = script
        self.name = name
    }

    func start() {
        let standard: [FarSideStep] = [.rings, .waits(.seconds(1)), .answers]
        let needsAnswer =
            call.direction == .outbound && call.state != .answered
            && !script.contains { step in
                switch step {
                case .answers, .rejects, .rings, .earlyMedia: true
                default: false
                }
            }
        let steps = needsAnswer ? standard + script : script
        task = call.loop.spawn { await self.play(steps) }
    }

    func finish() {
        task?.cancel()
        if let waitingFor { onStuck?("\(name) waited for \(waitingFor), which never came") }
    }

    func heard(_ sound: String, whole: Bool) {
        if whole {
            if let index = sounds.lastIndex(where: { $0.name == sound }) { sounds[index].whole = true }
        } else {
            sounds.append((sound, false))
        }
        change?.resume(returning: ())
    }

    func received(_ key: String) {
        received += key
        change?.resume(returning: ())
    }

    private func play(_ steps: [FarSideStep]) async {
        do {
            for step in steps {
                if call.state.isEnded, case .hangsUp = step { return }
                try await play(step)
            }
        } catch {
            // The case is over.
        }
    }

    private func play(_ step: FarSideStep) async throws(CancellationError) {
        switch step {
        case .hears(let sound, let whole, _):
            try await until(step.words.replacingOccurrence(of: "hears ", with: "")) {
                guard
                    let index = sounds[next...].firstIndex(where: {
                        FlowBenchPattern.matches(sound, $0.name) && (!whole || $0.whole)
                    })
                else { return false }
                next = index + 1
                return true
            }
            onStep?("\(name) \(step.words)")
        case .receives(let keys, _):
            try await until("the keys \(keys)") { received.hasSuffix(keys) }
            received = ""
            onStep?("\(name) \(step.words)")
        case .press(let keys):
            onStep?("\(name) \(step.words)")
            for key in keys {
                guard let digit = Digit(key) else {
                    try await call.loop.sleep(for: .milliseconds(500))
                    continue
                }
                call.farSidePresses(digit, .began)
                try await call.loop.sleep(for: .milliseconds(100))
                call.farSidePresses(digit, .ended)
                try await call.loop.sleep(for: .milliseconds(100))
            }
        case .texts(let text):
            onStep?("\(name) \(step.words)")
            call.receivedTexts.receive(text)
        case .waits(let length): try await call.loop.sleep(for: length)
        case .says(let length): try await sound(.speech, length, step)
        case .tone(let tone, let length): try await sound(.tone(tone), length, step)
        case .plays(let path, let name):
            let file = call.duration(path)
            if let failure = file.failure {
                onStuck?("\(self.name) cannot play \(name): \(failure)")
            } else {
                try await sound(.prompt(path: path, length: file.length, began: call.loop.now), file.length, step)
            }
        case .hangsUp:
            onStep?("\(name) hangs up")
            call.farSideHangsUp()
        case .rings:
            onStep?("\(name) rings")
            call.farSideRings()
        case .earlyMedia:
            onStep?("\(name) sends early media")
            call.farSideSendsEarlyMedia()
        case .answers:
            onStep?("\(name) answers")
            call.farSideAnswers()
        case .rejects(let status):
            onStep?("\(name) refuses with \(status)")
            call.farSideRejects(status)
        }
    }

    private func sound(_ sound: SimulatedCall.FarSideSound, _ length: Duration, _ step: FarSideStep)
        async throws(CancellationError)
    {
        onStep?("\(name) \(step.words)")
        call.farSideSounds(sound)
        try await call.loop.sleep(for: length)
        call.farSideSounds(nil)
    }

    private func until(_ what: String, _ isThere: () -> Bool) async throws(CancellationError) {
        while !isThere() {
            waitingFor = what
            let change = Waiter<Void>()
            self.change = change
            try await change.wait()
        }
        waitingFor = nil
    }
}

extension String {
    /// Without its first `part`.
    fileprivate func replacingOccurrence(of part: String, with other: String) -> String {
        hasPrefix(part) ? other + dropFirst(part.count) : self
    }
}
