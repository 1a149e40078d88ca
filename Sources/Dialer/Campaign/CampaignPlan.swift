// What a campaign is to do: plain values, read from its file or from the command line.

package import CallEngine
package import FlowEngine

package struct CampaignPlan: Sendable {
    package var name: String
    /// The dial list.
    package var list: ListSource
    /// The path of the flow.
    package var flow: String
    /// Whom a row stands for: a SIP address, or with a line a number. `target` is the row.
    package var to: Template
    package var callerID: Template?
    package var line: String?
    /// Calls at a time.
    package var concurrency: Int
    /// Calls a second at most; nil: no limit.
    package var rate: Double?
    package var hours: CallingHours?
    package var attempts = AttemptRules()
    package var limits: [DestinationLimit] = []
    package var stop: StopRule?
    /// Variables of the flow.
    package var vars: [(name: String, value: Template)] = []
    /// Who is called through the system under test; empty: the far end is the system itself.
    package var parties: [PartyPlan] = []
    package var mark = PartyMark.usual

    /// What a campaign without a name is called: as its file, without folders and ending.
    package static func name(of file: String) -> String {
        file.split(separator: "/").last.map { String($0.prefix { $0 != "." }) } ?? "campaign"
    }

    package init(name: String, list: ListSource, flow: String, to: Template, concurrency: Int) {
        self.name = name
        self.list = list
        self.flow = flow
        self.to = to
        self.concurrency = concurrency
    }
}

/// How often a target is called, and after what.
package struct AttemptRules: Equatable, Sendable {
    /// In all.
    package var most = 1
    /// Between two attempts, where `after` does not say otherwise.
    package var wait = Duration.seconds(300)
    /// Each further wait is so many times longer.
    package var factor = 1.0
    /// By the cause of the attempt before; a cause that stands here is tried again whatever it is.
    package var after: [CallEnd.Cause: Duration] = [:]

    package init() {}

    /// How long to wait after the attempt with this number (1 is the first); nil: there is no other.
    package func wait(after cause: CallEnd.Cause, attempt: Int) -> Duration? {
        guard attempt < most else { return nil }
        let usual: Duration? = CallEnd(by: .callee, cause: cause).mayRetry ? wait : nil
        guard var wait = after[cause] ?? usual else { return nil }
        for _ in 1..<max(1, attempt) { wait = wait * factor }
        return wait
    }
}

/// Less than the whole campaign's for some destinations.
package struct DestinationLimit: Sendable {
    /// Searched in the destination.
    package var pattern: Pattern
    package var concurrency: Int?
    package var rate: Double?

    package init(pattern: Pattern, concurrency: Int?, rate: Double?) {
        self.pattern = pattern
        self.concurrency = concurrency
        self.rate = rate
    }
}

/// When a campaign that goes wrong ends by itself.
package struct StopRule: Equatable, Sendable {
    /// The share of calls that did not pass, 0 to 1.
    package var failureRate: Double
    /// Not before so many calls are over.
    package var after: Int

    package init(failureRate: Double, after: Int) {
        self.failureRate = failureRate
        self.after = after
    }
}
