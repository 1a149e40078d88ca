// One call of a scenario: its place among the steps, its variables, its dialog, its timers. SIPp's rules (sipp's own manual, "Create your
// own XML scenarios"); what comes in is in ScenarioCall+Receiving, what goes out in +Sending, the ends in +Ending.
//
//     start / receive / receiveCommand / wake  ->  go()  ->  steps until one has to wait  ->  `wake`, the next deadline

package import Basics
import SIP

package final class ScenarioCall {
    let scenario: Scenario
    /// The run owns its calls, and outlives each; a checked reference would cost as much as the call's own work.
    unowned(unsafe) let run: any CallSurroundings
    let settings: CallSettings
    package let statistics: Statistics
    /// From 1.
    package let number: Int
    package let id: [UInt8]
    package let isOutgoing: Bool
    package let began: Instant
    /// The step that the call is at.
    package internal(set) var index = 0
    package internal(set) var isOver = false
    package internal(set) var didSucceed = false
    /// Ended in order, and waiting for late messages.
    package internal(set) var isInTimewait = false

    /// A check of an action that did not hold.
    var failedCheck: FailureCause?
    /// One of the actions that are running did so.
    var failsCheck = false
    /// The message whose actions are running.
    var lastSeen: Message?
    /// Where a `jump` leads.
    var jumpTarget: Int?

    // Variables
    var values: [VariableValue]
    package var userValues: VariableStore?
    /// The line of each injection file, by its place.
    package var lines: [Int] = []
    package var userID = 0
    package var dynamicID = 0

    // Dialog
    var cSeq: Int
    var peerTag: [UInt8] = []
    var lastReceived: Message?
    var routes: [UInt8] = []
    var nextURL: [UInt8] = []
    var challenge: Message?
    var nonceCount: UInt32 = 0
    var isEstablished = false
    var ackIsPending = false
    /// The branch of each named transaction, and the hash of its final answer.
    var branches: [[UInt8]] = []
    var answers: [UInt64] = []
    var keys: [String: [String]] = [:]

    // Retransmission
    var lastSent: [UInt8] = []
    var lastSentIndex = -1
    var lastSentIsInvite = false
    var retransmitAt = Instant.never
    var retransmissionDelay = 0.0
    var retransmissions = 0
    var lastReceivedHash: UInt64 = 0
    var lastReceivedIndex = -1
    /// What was answered by which message: a repetition is answered alike.
    var answeredHash: UInt64 = 0
    var answeredIndex = -1
    var answer: [UInt8] = []
    var answerIndex = -1

    // Waiting
    package internal(set) var pausedUntil = Instant.never
    var receiveUntil = Instant.never
    var sendUntil = Instant.never
    var isYielding = false
    /// The next deadline.
    package private(set) var wake = Instant.never
    /// The earliest deadline that the run has noted for the call.
    package var noted = Instant.never

    // Response times
    private struct ResponseTimer {
        var start: Instant
        var isDone = false
    }
    private var timers: [ResponseTimer] = []
    /// When the message that is being looked at came.
    var arrival = Instant.zero

    /// What the run keeps with the call: its socket, its destination, its media.
    package var link: AnyObject?
    package var media: AnyObject?
    package var destination: SocketAddress?
    /// The ports that the call's own description names.
    package internal(set) var offeredAudio: Int?
    package internal(set) var offeredVideo: Int?
    package internal(set) var offeredImage: Int?
    /// The remote end that a message of the call came from.
    package var source: SocketAddress?
    /// What is told of a call that failed (`-trace_calldebug`).
    package var history: [String]?

    /// - Parameter isOutgoing: counted as a call that this end began.
    package init(
        _ scenario: Scenario, run: any CallSurroundings, statistics: Statistics, number: Int, id: [UInt8], isOutgoing: Bool,
        userValues: VariableStore? = nil
    ) {
        self.scenario = scenario
        self.run = run
        settings = run.settings
        self.statistics = statistics
        self.number = number
        self.id = id
        self.isOutgoing = isOutgoing
        self.userValues = userValues
        began = run.now
        cSeq = settings.baseCSeq
        values = [VariableValue](repeating: .unset, count: scenario.variables.names.count)
        if !scenario.timers.isEmpty {
            timers = [ResponseTimer](repeating: ResponseTimer(start: began), count: scenario.timers.count)
        }
        if !scenario.transactions.isEmpty {
            branches = [[UInt8]](repeating: [], count: scenario.transactions.count)
            answers = [UInt64](repeating: 0, count: scenario.transactions.count)
        }
    }

    /// Begins with the first step.
    package func start() {
        arrival = run.now
        go()
        settle()
    }

    /// A deadline has come.
    package func wakeUp() {
        guard !isOver else { return }
        let now = run.now
        arrival = now
        isYielding = false
        if retransmitAt <= now, !retransmit() { return settle() }
        if pausedUntil <= now {
            pausedUntil = .never
            countSession(-1)
            step()
        } else if receiveUntil <= now {
            receiveTimedOut()
        } else if pausedUntil == .never, receiveUntil == .never {
            go()
        }
        settle()
    }

    /// Works out the next deadline.
    func settle() {
        guard !isOver else { return }
        var next = min(pausedUntil, min(retransmitAt, min(receiveUntil, sendUntil)))
        // As soon as the others have had their turn.
        if isYielding { next = run.now + .milliseconds(1) }
        wake = next
        if next < noted { run.schedule(self) }
    }

    // MARK: Steps

    /// Goes on to the step after this one, or where `next` leads.
    func step() {
        index = after(scenario.steps[index])
        go()
    }

    /// Where the call goes after a step and its actions.
    func after(_ step: Step) -> Int {
        guard let target = jumpTarget else { return following(step) }
        jumpTarget = nil
        return target
    }

    private func following(_ step: Step) -> Int {
        guard let next = step.common.next, isTaken(step) else { return index + 1 }
        return step.common.chance >= 1 || run.chance() < step.common.chance ? next : index + 1
    }

    /// Whether the condition of `next` holds.
    func isTaken(_ step: Step) -> Bool {
        guard let test = step.common.test else { return true }
        return value(test).isTrue
    }

    /// Steps that a call makes in one go, at most: one that turns in a circle lets the others live.
    private static let mostSteps = 1000
    private static let mostInitSteps = 100_000

    /// Runs steps until one has to wait or the call is over.
    func go() {
        receiveUntil = .never
        for _ in 0..<Self.mostSteps {
            guard !isOver else { return }
            guard index < scenario.steps.count else { return succeed() }
            let step = scenario.steps[index]
            if let condition = step.common.condition, value(condition).isTrue == step.common.isConditionInverse {
                index = following(step)
                continue
            }
            guard perform(step) else { return }
        }
        isYielding = true
    }

    /// Performs the actions of `<init>`, for the variables of the run.
    package func runInit() {
        for _ in 0..<Self.mostInitSteps {
            guard index < scenario.initSteps.count, !isOver else { return }
            let step = scenario.initSteps[index]
            guard act(step, message: nil) else { return }
            index = after(step)
        }
        run.fatal("\(scenario.file): <init> goes round in a circle")
    }

    /// Performs a step; false when the call waits there or is over.
    private func perform(_ step: Step) -> Bool {
        switch step.kind {
        case .send(let sending): return send(step, sending)
        case .receive:
            waitForMessage(step)
            return false
        case .receiveCommand:
            waitForMessage(step)
            return false
        case .pause(let length):
            return pause(step, milliseconds(length))
        case .timewait(let milliseconds):
            isInTimewait = true
            return pause(step, milliseconds)
        case .nop:
            note(step)
            statistics.steps[index].sent += 1
            guard act(step, message: nil) else { return false }
            index = after(step)
            // `pauserestore` may have made a pause of what follows.
            guard pausedUntil != .never else { return true }
            countSession(1)
            return false
        case .sendCommand(let template, let destination):
            note(step)
            let octets = expand(template)
            guard run.sendCommand(octets, to: destination, of: self) else {
                fail(.cmdNotSent)
                return false
            }
            statistics.steps[index].sent += 1
            guard act(step, message: nil) else { return false }
            index = after(step)
            return true
        }
    }

    private func milliseconds(_ length: Step.PauseLength) -> Double {
        switch length {
        case .standard: settings.pause
        case .distribution(let distribution): run.draw(distribution)
        case .variable(let variable): value(variable).number ?? 0
        }
    }

    private func pause(_ step: Step, _ milliseconds: Double) -> Bool {
        note(step)
        statistics.steps[index].sent += 1
        guard act(step, message: nil) else { return false }
        guard milliseconds >= 0.001 else {
            index = after(step)
            return true
        }
        pausedUntil = run.now + .milliseconds(bounded: milliseconds)
        countSession(1)
        return false
    }

    func countSession(_ change: Int) {
        if index < scenario.steps.count { statistics.steps[index].sessions += change }
    }

    private func waitForMessage(_ step: Step) {
        if let milliseconds = step.common.timeout ?? settings.receiveTimeout, milliseconds > 0 {
            receiveUntil = run.now + .milliseconds(bounded: milliseconds)
        }
    }

    /// Counters and timers of a step.
    func note(_ step: Step) {
        if let counter = step.common.counter { statistics.counted(counter) }
        for timer in step.common.startTimers { timers[timer] = ResponseTimer(start: arrival) }
        for timer in step.common.endTimers where !timers[timer].isDone {
            run.responded(timer, after: arrival - timers[timer].start, of: self)
            if step.common.repeatsTimer { timers[timer].start = arrival } else { timers[timer].isDone = true }
        }
    }

    /// Whether a message is lost on purpose here.
    func isLost(_ step: Step) -> Bool {
        let share = step.common.loss ?? settings.loss
        guard share > 0, run.chance() * 100 < share else { return false }
        statistics.steps[index].lost += 1
        return true
    }

    // MARK: Variables

    package func value(_ variable: Int) -> VariableValue {
        switch scenario.variables.scopes[variable] {
        case .call: values[variable]
        case .user: (userValues?.values ?? values)[variable]
        case .global: run.globals.values[variable]
        }
    }

    package func set(_ variable: Int, _ value: VariableValue) {
        switch scenario.variables.scopes[variable] {
        case .call: values[variable] = value
        case .user: if let userValues { userValues.values[variable] = value } else { values[variable] = value }
        case .global: run.globals.values[variable] = value
        }
    }

    /// The keys that were heard so far.
    package func heard(_ digits: String) {
        if let variable = scenario.digits { set(variable, .text(Array(digits.utf8))) }
    }

    /// Keeps a line for the report of a call that fails.
    func remember(_ line: @autoclosure () -> String) {
        if history != nil { history?.append("\(run.clockTick) ms, index \(index): \(line())") }
    }
}
