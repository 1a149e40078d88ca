// The full screen of a load run: what is wanted and what is reached, failures by cause, percentiles, the health of this machine, small
// curves, and the keys. It holds what is to be seen; who has a terminal draws it.

import Basics
package import Dialer
import Reactor

/// From any thread.
package final class LoadScreen: Sendable {
    /// What the keys have done to the run.
    package enum Mode: String, Sendable {
        case running
        case paused
        case draining
        case ending
    }

    private struct State {
        var progress: LoadProgress?
        var mode = Mode.running
        /// What the rate was multiplied by.
        var factor = 1.0
        var note = ""
        var plannedCalls: Int?
        /// nil: no rate decides (`--users`), or it is a file's.
        var profile: RateProfile?
    }

    private let title: String
    private let state = Locked(State())
    private let change = Locked<(@Sendable () -> Void)?>(nil)

    /// - Parameter title: the target.
    package init(title: String) { self.title = title }

    /// A run begins.
    package func begin(_ plan: LoadPlan) {
        update { state in
            state.plannedCalls = plan.plannedCalls
            if case .arrivals(.rate(let profile, _)) = plan.source { state.profile = profile } else { state.profile = nil }
            (state.progress, state.factor) = (nil, 1)
        }
    }

    /// `action` is told that there is something new to draw. nil: nobody draws any more.
    package func onChange(_ action: (@Sendable () -> Void)?) { change.withLock { $0 = action } }

    package func show(_ progress: LoadProgress) { update { $0.progress = progress } }

    /// Words besides the figures: a warning, the address of the metrics.
    package func note(_ text: String) { update { $0.note = text } }

    package func set(_ mode: Mode) { update { $0.mode = mode } }

    /// Calls begin no more, or again.
    package func pause() { update { $0.mode = $0.mode == .paused ? .running : $0.mode == .running ? .paused : $0.mode } }

    package func scale(by factor: Double) { update { $0.factor *= factor } }

    private func update(_ body: (inout State) -> Void) {
        state.withLock(body)
        change.withLock { $0 }?()
    }

    /// The screen for a terminal of this size.
    package func frame(_ style: ScreenStyle) -> String { ScreenText.frame(lines(style), style) }

    func lines(_ style: ScreenStyle) -> [ScreenLine] {
        let state = state.withLock { $0 }
        var lines = [heading(state, style)]
        if let progress = state.progress {
            lines += rates(state, progress)
            lines.append(failures(progress))
            lines += percentiles(progress.statistics)
            lines += media(progress.statistics)
            lines += machine(progress)
            lines += curves(progress.statistics.series, style)
        } else {
            lines.append(ScreenLine([ScreenSpan("waiting for the first second", .label)]))
        }
        if !state.note.isEmpty { lines.append(ScreenLine([ScreenSpan(state.note)], importance: 1)) }
        lines.append(keys(state.mode, style))
        return lines
    }

    // MARK: Lines

    private func heading(_ state: State, _ style: ScreenStyle) -> ScreenLine {
        let seconds = Int(state.progress?.elapsed.seconds ?? 0)
        let time = "\(seconds / 3600):\(Self.two(seconds / 60 % 60)):\(Self.two(seconds % 60))"
        let end = "\(time)  \(state.mode.rawValue)"
        let name = String("load \(title)".prefix(max(0, style.columns - end.count - 2)))
        let gap = String(repeating: " ", count: max(2, style.columns - name.count - end.count))
        return ScreenLine([ScreenSpan(name, .strong), ScreenSpan(gap + "\(time)  "), ScreenSpan(state.mode.rawValue, .strong)])
    }

    private func rates(_ state: State, _ progress: LoadProgress) -> [ScreenLine] {
        let statistics = progress.statistics
        var rate: [ScreenSpan] = [ScreenSpan("calls/s   ", .label), ScreenSpan("\(Int(progress.rate)) now", .strong)]
        if let profile = state.profile {
            let wanted = state.mode == .running ? profile.rate(at: progress.elapsed.seconds) * state.factor : 0
            rate.append(ScreenSpan("  \(Self.number(wanted, 1)) wanted"))
        }
        if let achieved = statistics.rateAchieved { rate.append(ScreenSpan("  \(Self.number(achieved, 1)) in all")) }
        var calls: [ScreenSpan] = [
            ScreenSpan("calls     ", .label), ScreenSpan("\(progress.active) active", .strong),
            ScreenSpan("  \(statistics.placed) placed")
        ]
        if let plannedCalls = state.plannedCalls { calls.append(ScreenSpan(" of \(plannedCalls)")) }
        calls.append(ScreenSpan("  \(statistics.answered) answered"))
        return [ScreenLine(rate), ScreenLine(calls)]
    }

    private func failures(_ progress: LoadProgress) -> ScreenLine {
        let statistics = progress.statistics
        guard statistics.failed > 0 else {
            return ScreenLine([ScreenSpan("failed    ", .label), ScreenSpan("none", .good)])
        }
        let over = max(1, statistics.placed - progress.active)
        let reasons = (statistics.byStatus.map { (String($0.key), $0.value) } + statistics.byCause.map { ($0.key, $0.value) })
            .sorted { ($1.1, $0.0) < ($0.1, $1.0) }
        let share = Self.number(Double(statistics.failed) / Double(over) * 100, 1)
        return ScreenLine([
            ScreenSpan("failed    ", .label), ScreenSpan("\(statistics.failed) (\(share)%)", .bad),
            ScreenSpan("  " + reasons.map { "\($0.0): \($0.1)" }.joined(separator: "  "))
        ])
    }

    private static let shares: [(name: String, share: Double)] = [
        ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)
    ]

    private func percentiles(_ statistics: LoadStatistics) -> [ScreenLine] {
        let heading = Self.left("ms", 10) + Self.shares.map { Self.right($0.name, 9) }.joined()
        let rows = [("ringing", statistics.ringing, 3), ("answer", statistics.answer, 0), ("bye", statistics.bye, 3)].map {
            name, histogram, importance in
            let values = Self.shares.map { share in
                Self.right(histogram.count == 0 ? "-" : Self.number(Double(histogram.quantile(share.share)) / 1000, 1), 9)
            }
            return ScreenLine([ScreenSpan(Self.left(name, 10), .label), ScreenSpan(values.joined())], importance: importance)
        }
        return [ScreenLine([ScreenSpan(heading, .label)], importance: 2)] + rows
    }

    private func media(_ statistics: LoadStatistics) -> [ScreenLine] {
        guard statistics.received > 0 || statistics.sent > 0 else { return [] }
        let all = Double(statistics.received) + Double(statistics.lost)
        var spans = [ScreenSpan("audio     ", .label)]
        spans.append(ScreenSpan("lost \(Self.number(all > 0 ? Double(statistics.lost) / all * 100 : 0, 2))%"))
        spans.append(ScreenSpan("  jitter p99 \(Self.number(Double(statistics.jitter.quantile(0.99)) / 1000, 1)) ms"))
        if statistics.score.count > 0 {
            let score = { Self.number(Double(statistics.score.quantile($0)) / 100, 2) }
            spans.append(ScreenSpan("  MOS p50 \(score(0.5)), p5 \(score(0.05))"))
        }
        if statistics.oneWay > 0 { spans.append(ScreenSpan("  one way: \(statistics.oneWay)", .bad)) }
        return [ScreenLine(spans, importance: 1)]
    }

    private func machine(_ progress: LoadProgress) -> [ScreenLine] {
        let health = progress.health
        let late = Self.number(Double(health.lateness.quantile(0.99)) / 1000, 1)
        let share = Self.whole(progress.elapsed > .zero ? health.cpu / progress.elapsed.seconds * 100 : 0)
        var spans = [ScreenSpan("this side ", .label)]
        let limits = health.limitsHit
        if limits.isEmpty {
            spans.append(ScreenSpan("well", .good))
        } else {
            spans.append(ScreenSpan("short of \(limits.map(\.rawValue).joined(separator: ", "))", .bad))
        }
        spans.append(ScreenSpan("  cpu \(share)%  late p99 \(late) ms"))
        return [ScreenLine(spans)] + limits.prefix(1).map { ScreenLine([ScreenSpan("          \($0.mend)")], importance: 2) }
    }

    private func curves(_ series: IntervalSeries, _ style: ScreenStyle) -> [ScreenLine] {
        let columns = min(style.columns - 20, 120)
        // The interval that runs is not whole yet.
        let whole = series.intervals.dropLast()
        guard columns >= 10, whole.count >= 2 else { return [] }
        let seconds = Double(series.length)
        let kinds: [(String, ScreenSpan.Tone, Int, (IntervalSeries.Interval) -> Double)] = [
            ("calls/s   ", .plain, 3, { Double($0.placed) / seconds }), ("active    ", .plain, 4, { Double($0.peak) }),
            ("failed/s  ", .bad, 5, { Double($0.failed) / seconds }),
            ("answer ms ", .plain, 4, { $0.answerMean ?? 0 })
        ]
        return kinds.map { name, tone, importance, value in
            let values = whole.suffix(columns).map(value)
            let most = Self.whole(values.max() ?? 0)
            let curve = ScreenText.curve(values, columns: columns, isUnicode: style.isUnicode)
            return ScreenLine(
                [
                    ScreenSpan(name, .label), ScreenSpan(Self.left(curve, min(columns, whole.count)), tone),
                    ScreenSpan("  to \(most)")
                ],
                importance: importance)
        }
    }

    private func keys(_ mode: Mode, _ style: ScreenStyle) -> ScreenLine {
        let quit = mode == .draining || mode == .ending ? "d end now" : "d drain"
        let words = ["+ faster", "- slower", mode == .paused ? "p go on" : "p pause", quit, "q quit"]
        let line = words.joined(separator: "  ")
        return ScreenLine([ScreenSpan(line.count <= style.columns ? line : "+ - p d q", .label)])
    }

    // MARK: Words

    private static func number(_ value: Double, _ digits: Int) -> String { JSONText.number(value, digits: digits).text }
    private static func whole(_ value: Double) -> String { "\(Int(value.rounded()))" }
    private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
