// The columns of SIPp's statistics file and of its counts file.

import Basics

/// Writes rows. Each column is followed by the delimiter, the last one too.
struct StatisticsForm {
    private let scenario: Scenario
    private let delimiter: String
    private let rfc3339: Bool

    init(_ scenario: Scenario, delimiter: String, rfc3339: Bool) {
        self.scenario = scenario
        self.delimiter = delimiter
        self.rfc3339 = rfc3339
    }

    private func joined(_ columns: [String]) -> String { columns.map { $0 + delimiter }.joined() }

    /// Counters after the causes of failure.
    private static var others: [(name: String, path: KeyPath<Counters, Int>)] {
        [
            ("OutOfCallMsgs", \.outOfCall), ("DeadCallMsgs", \.deadCall), ("Retransmissions", \.retransmissions),
            ("AutoAnswered", \.autoAnswered), ("Warnings", \.warnings), ("FatalErrors", \.fatalErrors),
            ("WatchdogMajor", \.watchdogMajor),
            ("WatchdogMinor", \.watchdogMinor)
        ]
    }

    private static func pair(_ name: String) -> [String] { ["\(name)(P)", "\(name)(C)"] }

    /// A counter with a number for a name is called by SIPp's older way.
    private func counterName(_ name: String) -> String { Int(name) == nil ? name : "GenericCounter\(name)" }

    /// The first row.
    var head: String {
        var columns = ["StartTime", "LastResetTime", "CurrentTime", "ElapsedTime(P)", "ElapsedTime(C)", "TargetRate"]
        columns += ["CallRate", "IncomingCall", "OutgoingCall"].flatMap(Self.pair)
        columns += ["TotalCallCreated", "CurrentCall"]
        columns += ["SuccessfulCall", "FailedCall"].flatMap(Self.pair)
        columns += FailureCause.allCases.flatMap { Self.pair($0.column) }
        columns += Self.others.flatMap { Self.pair($0.name) }
        columns += scenario.timers.flatMap { Self.pair("ResponseTime\($0)") + Self.pair("ResponseTime\($0)StDev") }
        columns += Self.pair("CallLength") + Self.pair("CallLengthStDev")
        columns += scenario.counters.flatMap { Self.pair(counterName($0)) }
        for timer in scenario.timers { columns += borders("ResponseTimeRepartition\(timer)", scenario.timerBorders) }
        columns += borders("CallLengthRepartition", scenario.lengthBorders)
        return joined(columns)
    }

    private func borders(_ name: String, _ borders: [Int]) -> [String] {
        guard let last = borders.last else { return [] }
        return [name] + borders.map { "\(name)_<\($0)" } + ["\(name)_>=\(last)"]
    }

    /// A row of figures.
    func row(_ run: ScenarioRun, now: Instant, clock: Double) -> String {
        let statistics = run.statistics
        let (total, period) = (statistics.total, statistics.period)
        let (sinceStart, sinceReset) = (now - statistics.start, now - statistics.periodStart)
        func stamp(_ instant: Instant) -> String { DateText.stamp(clock - (now - instant).seconds, rfc3339: rfc3339) }
        func rate(_ counters: Counters, _ time: Duration) -> String {
            Decimal6.short(time > .zero ? Double(counters.incoming + counters.outgoing) / time.seconds : 0)
        }
        var columns = [stamp(statistics.start), stamp(statistics.periodStart), stamp(now)]
        columns += [DateText.elapsed(sinceReset), DateText.elapsed(sinceStart)]
        columns += [Decimal6.short(run.options.users.map(Double.init) ?? run.opening.rate)]
        columns += [rate(period, sinceReset), rate(total, sinceStart)]
        columns += ["\(period.incoming)", "\(total.incoming)", "\(period.outgoing)", "\(total.outgoing)"]
        columns += ["\(statistics.created)", "\(statistics.current)"]
        columns += ["\(period.successful)", "\(total.successful)", "\(period.failed)", "\(total.failed)"]
        for cause in FailureCause.allCases { columns += ["\(period.causes[cause.rawValue])", "\(total.causes[cause.rawValue])"] }
        for other in Self.others { columns += ["\(period[keyPath: other.path])", "\(total[keyPath: other.path])"] }
        for timer in statistics.timers { columns += times(timer) }
        columns += times(statistics.lengths)
        for counter in statistics.generic { columns += ["\(counter.period)", "\(counter.total)"] }
        for timer in statistics.timers { columns += counts(timer.repartition) }
        columns += counts(statistics.lengths.repartition)
        return joined(columns)
    }

    private func times(_ timer: Statistics.Timer) -> [String] {
        [timer.period.mean, timer.total.mean, timer.period.deviation, timer.total.deviation].map {
            DateText.long(milliseconds: $0)
        }
    }

    private func counts(_ repartition: Repartition) -> [String] {
        repartition.borders.isEmpty ? [] : [""] + repartition.counts.map(String.init)
    }

    // MARK: Counts of each step

    var countsHead: String {
        var columns = ["CurrentTime", "ElapsedTime"]
        for (index, step) in scenario.steps.enumerated() {
            switch step.kind {
            case .send(let sending):
                let name = "\(index)_\(step.title)"
                columns += ["\(name)_Sent", "\(name)_Retrans"]
                if sending.retransmission != nil { columns.append("\(name)_Timeout") }
                if step.common.loss != nil { columns.append("\(name)_Lost") }
            case .receive:
                let name = "\(index)_\(step.title)"
                columns += ["\(name)_Recv", "\(name)_Retrans", "\(name)_Timeout", "\(name)_Unexp"]
                if step.common.loss != nil { columns.append("\(name)_Lost") }
            case .pause, .timewait: columns += ["\(index)_Pause_Sessions", "\(index)_Pause_Unexp"]
            case .nop: break
            case .sendCommand: columns += ["\(index)_SendCmd"]
            case .receiveCommand: columns += ["\(index)_RecvCmd", "\(index)_RecvCmd_Timeout"]
            }
        }
        return joined(columns)
    }

    func countsRow(_ statistics: Statistics, elapsed: Duration, clock: Double) -> String {
        var columns = [DateText.stamp(clock, rfc3339: rfc3339), DateText.long(milliseconds: elapsed.milliseconds)]
        for (index, step) in scenario.steps.enumerated() {
            let counters = statistics.steps[index]
            let numbers: [Int]
            let lost = step.common.loss == nil ? [] : [counters.lost]
            switch step.kind {
            case .send(let sending):
                numbers = [counters.sent, counters.sentAgain] + (sending.retransmission == nil ? [] : [counters.timeouts]) + lost
            case .receive: numbers = [counters.received, counters.receivedAgain, counters.timeouts, counters.unexpected] + lost
            // As SIPp has it: how many calls have come to the pause.
            case .pause, .timewait: numbers = [counters.sent, counters.unexpected]
            case .nop: numbers = []
            case .sendCommand: numbers = [counters.sent]
            case .receiveCommand: numbers = [counters.received, counters.timeouts]
            }
            columns += numbers.map(String.init)
        }
        return joined(columns)
    }
}

extension Step {
    /// What a step is called in files and on the screen: its method or status.
    var title: String {
        switch kind {
        case .send(let sending):
            guard case .literal(let octets)? = sending.template.segments.first else { return "message" }
            let words = String(decoding: octets.prefix { $0 != 13 }, as: UTF8.self).split(separator: " ")
            return words.first == "SIP/2.0"
                ? words.count > 1 ? String(words[1]) : "response" : words.first.map(String.init) ?? "message"
        case .receive(let receiving):
            switch receiving.expected {
            case .status(let status): return "\(status)"
            case .method(let method): return String(decoding: method, as: UTF8.self)
            case .methodPattern(let pattern), .statusPattern(let pattern): return pattern.source
            }
        case .pause: return "Pause"
        case .timewait: return "Timewait"
        case .nop: return "Nop"
        case .sendCommand: return "SendCmd"
        case .receiveCommand: return "RecvCmd"
        }
    }
}
