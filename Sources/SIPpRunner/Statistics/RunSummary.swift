// What a run came to, for people and for programs.

import Basics
import Dialer
import Reactor

package struct RunSummary {
    private let run: ScenarioRun
    private var statistics: Statistics { run.statistics }

    package init(_ run: ScenarioRun) {
        self.run = run
    }

    private static func padded(_ text: String, _ width: Int, left: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - text.count))
        return left ? blanks + text : text + blanks
    }

    /// A page for people.
    package var text: String {
        let total = statistics.total
        let elapsed = run.loop.now - statistics.start
        var lines = [
            "\(run.scenario.name.isEmpty ? run.scenario.file : run.scenario.name), \(Decimal6.short(elapsed.seconds)) s", ""
        ]
        lines.append("                                 Messages  Retrans   Timeout   Unexpected")
        for (index, step) in run.scenario.steps.enumerated() where !step.common.isHidden {
            lines.append(line(index, step))
            if step.common.hasBlankLine { lines.append("") }
        }
        lines += [
            "",
            "  Calls: \(statistics.created) (\(total.incoming) in, \(total.outgoing) out), \(statistics.peak) at a time at most"
        ]
        lines.append("  Successful: \(total.successful)   Failed: \(total.failed)   Open: \(statistics.current)")
        for cause in FailureCause.allCases where total.causes[cause.rawValue] > 0 {
            lines.append("    \(cause.column): \(total.causes[cause.rawValue])")
        }
        lines.append(
            "  Retransmissions: \(total.retransmissions)   Out of call: \(total.outOfCall)   Dead call: \(total.deadCall)   Warnings: \(total.warnings)"
        )
        for (index, name) in run.scenario.counters.enumerated() {
            lines.append("  Counter \(name): \(statistics.generic[index].total)")
        }
        for (index, name) in run.scenario.timers.enumerated() { lines += time("Response time \(name)", statistics.timers[index]) }
        lines += time("Call length", statistics.lengths)
        lines += run.media.summaryLines
        return lines.joined(separator: "\n") + "\n"
    }

    private func line(_ index: Int, _ step: Step) -> String {
        let counters = statistics.steps[index]
        let isSent: Bool
        switch step.kind {
        case .send, .sendCommand: isSent = true
        default: isSent = false
        }
        let title = step.common.display ?? step.title
        let arrow: String
        switch step.kind {
        case .send, .sendCommand: arrow = Self.padded(title, 12, left: true) + " ---------->"
        case .receive, .receiveCommand: arrow = Self.padded(title, 12, left: true) + " <----------"
        default: arrow = Self.padded(title, 12, left: true) + "            "
        }
        var columns = "  " + Self.padded(arrow, 31)
        var isWaiting = true
        switch step.kind {
        case .pause, .timewait, .nop: isWaiting = false
        default: break
        }
        columns += Self.padded("\(isSent || !isWaiting ? counters.sent : counters.received)", 10)
        columns += Self.padded(isWaiting ? "\(isSent ? counters.sentAgain : counters.receivedAgain)" : "", 10)
        columns += Self.padded("\(counters.timeouts)", 10) + "\(counters.unexpected)"
        return columns
    }

    private func time(_ name: String, _ timer: Statistics.Timer) -> [String] {
        guard timer.total.count > 0 else { return [] }
        func ms(_ share: Double) -> String { Decimal6.short(Double(timer.histogram.quantile(share)) / 1000) }
        return [
            "  \(name): mean \(Decimal6.short(timer.total.mean)) ms, p50 \(ms(0.5)), p90 \(ms(0.9)), p99 \(ms(0.99)), max \(ms(1))"
        ]
    }

    /// The same for programs: one object.
    package func json(status: Int32) -> String {
        let total = statistics.total
        let causes = FailureCause.allCases.filter { total.causes[$0.rawValue] > 0 }.map {
            (name: $0.column, value: JSONText.count(total.causes[$0.rawValue]))
        }
        var times = run.scenario.timers.enumerated().map { (name: $0.element, value: time(statistics.timers[$0.offset])) }
        times.append((name: "call_length", value: time(statistics.lengths)))
        let counters = run.scenario.counters.enumerated().map {
            (name: $0.element, value: JSONText.count(statistics.generic[$0.offset].total))
        }
        let calls: [(name: String, value: JSONText)] = [
            ("incoming", .count(total.incoming)), ("outgoing", .count(total.outgoing)), ("successful", .count(total.successful)),
            ("failed", .count(total.failed)), ("peak", .count(statistics.peak))
        ]
        let members: [(name: String, value: JSONText)] = [
            ("scenario", .string(run.scenario.name)), ("exit_status", .count(status)),
            ("elapsed_s", .number((run.loop.now - statistics.start).seconds, digits: 3)), ("calls", .object(calls)),
            ("failures", .object(causes)), ("retransmissions", .count(total.retransmissions)),
            ("out_of_call", .count(total.outOfCall)),
            ("dead_call", .count(total.deadCall)), ("warnings", .count(total.warnings)), ("counters", .object(counters)),
            ("percentiles_ms", .object(times)), ("media", run.media.description)
        ]
        return JSONText.object(members).text + "\n"
    }

    private func time(_ timer: Statistics.Timer) -> JSONText {
        let shares: [(String, Double)] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)]
        return .object(
            [("count", .count(timer.total.count)), ("mean", .number(timer.total.mean, digits: 3))]
                + shares.map { (name: $0, value: .number(Double(timer.histogram.quantile($1)) / 1000, digits: 3)) })
    }
}
