// The parts of a scenario, as they are once the file has been read: labels are indices, variables are places in a table, texts are
// templates. Nothing here changes while calls run.

package import Dialer

/// One message of a scenario: what a call does at an index.
package final class Step {
    /// What kind of step it is.
    package enum Kind {
        case send(Sending)
        case receive(Receiving)
        /// A sleep: `-d` when there is no length in it.
        case pause(PauseLength)
        /// A sleep at the end that takes late messages.
        case timewait(milliseconds: Double)
        case nop
        /// To a twin instance; `destination` in extended 3PCC.
        case sendCommand(Template, destination: String?)
        /// From a twin instance.
        case receiveCommand(source: String?)
    }

    package let kind: Kind
    package let common: Common
    package let actions: [Action]
    /// Where it is in the file.
    package let line: Int

    package init(_ kind: Kind, _ common: Common, actions: [Action], line: Int) {
        self.kind = kind
        self.common = common
        self.actions = actions
        self.line = line
    }

    /// What every kind of step may have.
    package struct Common {
        /// Timers that start and end here, by number.
        package var startTimers: [Int] = []
        package var endTimers: [Int] = []
        package var repeatsTimer = false
        package var counter: Int?
        /// The step to go on with instead of the next one; `steps.count` ends the call.
        package var next: Int?
        /// `next` counts only while this variable is true.
        package var test: Int?
        /// `next` counts with this chance.
        package var chance = 1.0
        /// The step is skipped unless this variable is true (or is, when inverse).
        package var condition: Int?
        package var isConditionInverse = false
        /// Milliseconds after which `timeoutNext` follows, or the call fails.
        package var timeout: Double?
        package var timeoutNext: Int?
        /// The share of messages that are lost here on purpose, 0 to 100; nil: as `-lost` says.
        package var loss: Double?
        package var isOptional = false
        package var isGlobal = false
        /// For the screen.
        package var hasBlankLine = false
        package var isHidden = false
        package var display: String?
    }

    /// What a `send` sends. An object, as is what a `recv` waits for: each message of each call looks at it.
    package final class Sending {
        package let template: Template
        /// Milliseconds to the first retransmission over UDP; nil: it is sent once.
        package let retransmission: Double?
        /// A named transaction that begins with it, or whose answer it acknowledges.
        package let startsTransaction: Int?
        package let acknowledges: Int?

        init(_ template: Template, retransmission: Double?, startsTransaction: Int?, acknowledges: Int?) {
            self.template = template
            self.retransmission = retransmission
            self.startsTransaction = startsTransaction
            self.acknowledges = acknowledges
        }
    }

    /// What a `recv` waits for.
    package final class Receiving {
        package enum Expected {
            case status(Int)
            case method([UInt8])
            case methodPattern(Pattern)
            case statusPattern(Pattern)
        }

        package let expected: Expected
        /// Keeps the route set and the remote target of the message.
        package var keepsRoutes = false
        /// Keeps the challenge of a 401 or 407.
        package var keepsChallenge = false
        /// False: the message is looked at, and the call stays where it is.
        package var advances = true
        package var ignoresBody = false
        package var transaction: Int?
        /// The methods of the requests before it in the scenario: a response without a named transaction is to one of them. Empty: to any.
        package var methods: [[UInt8]] = []

        init(_ expected: Expected) {
            self.expected = expected
        }
    }

    /// How long a `pause` lasts.
    package enum PauseLength {
        case standard
        case distribution(HoldTime)
        case variable(Int)
    }

    /// Whether it sends RTP or sends it back.
    package var playsMedia: Bool {
        actions.contains {
            if case .media = $0.kind { true } else { false }
        }
    }

    package var isPause: Bool {
        switch kind {
        case .pause, .timewait: true
        default: false
        }
    }
}

/// Built-in messages that `DefaultMessage` may replace.
package enum DefaultMessage: String, CaseIterable {
    /// For a final answer that ends the call in the middle of an INVITE.
    case ack
    /// For a 2xx.
    case ack2
    case bye
    case cancel
    case ok = "200"
    /// To the twin instance of a call that was aborted.
    case abort = "3pcc_abort"
}

/// A scenario, read.
package final class Scenario {
    package enum Role {
        case client, server
    }

    package let name: String
    package let file: String
    package let steps: [Step]
    /// Run once before the first call: only global variables stay.
    package let initSteps: [Step]
    package let variables: VariableTable
    /// Names of timers, counters and transactions, by their number.
    package let timers: [String]
    package let counters: [String]
    package let transactions: [String]
    /// The step that acknowledges a named transaction.
    package let acknowledgements: [Int?]
    package let timerBorders: [Int]
    package let lengthBorders: [Int]
    package let defaults: [DefaultMessage: Template]
    /// The label `_unexp.main`, and the variables that go with it.
    package let unexpected: Int?
    package let returnAddress: Int?
    package let pausedUntil: Int?
    /// The variable `$_dtmf`, which holds the keys that were heard; SIPp has no such thing.
    package let digits: Int?
    /// Whether a step may match from anywhere behind it.
    package let hasGlobal: Bool

    package init(_ parts: ScenarioParts) {
        name = parts.name
        file = parts.file
        steps = parts.steps
        initSteps = parts.initSteps
        variables = parts.variables
        timers = parts.timers
        counters = parts.counters
        transactions = parts.transactions
        acknowledgements = parts.acknowledgements
        timerBorders = parts.timerBorders
        lengthBorders = parts.lengthBorders
        defaults = parts.defaults
        unexpected = parts.unexpected
        returnAddress = parts.variables.index(of: "_unexp.retaddr")
        pausedUntil = parts.variables.index(of: "_unexp.pausedaddr")
        digits = parts.variables.index(of: "_dtmf")
        hasGlobal = parts.steps.contains { $0.common.isGlobal }
    }

    /// By the first step that speaks SIP: `send` calls, `recv` is called.
    package var role: Role {
        for step in steps {
            switch step.kind {
            case .send, .receiveCommand: return .client
            case .receive: return .server
            case .sendCommand: return .client
            default: continue
            }
        }
        return .client
    }

    /// Whether a call begins with a command of a twin instance.
    package var beginsWithCommand: Bool {
        for step in steps {
            switch step.kind {
            case .receiveCommand: return true
            case .send, .receive, .sendCommand: return false
            default: continue
            }
        }
        return false
    }

    /// Whether the first command for a twin is sent (true) or received; nil without commands.
    package var sendsCommandFirst: Bool? {
        for step in steps {
            switch step.kind {
            case .sendCommand: return true
            case .receiveCommand: return false
            default: continue
            }
        }
        return nil
    }
}

/// The parts of a scenario while it is read.
package struct ScenarioParts {
    package var name = ""
    package var file = ""
    package var steps: [Step] = []
    package var initSteps: [Step] = []
    package var variables = VariableTable()
    package var timers: [String] = []
    package var counters: [String] = []
    package var transactions: [String] = []
    /// Of the requests so far; nil: one of them is told by a keyword.
    package var sentMethods: [[UInt8]]? = []
    package var acknowledgements: [Int?] = []
    package var timerBorders: [Int] = []
    package var lengthBorders: [Int] = []
    package var defaults: [DefaultMessage: Template] = [:]
    package var unexpected: Int?
    /// What is odd but let through, each with its place.
    package var warnings: [String] = []
}
