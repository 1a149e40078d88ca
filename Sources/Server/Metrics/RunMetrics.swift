// /metrics of `load` and `campaign`, while they run: the engine's figures as of a server, and those of the run.

import Basics
import CallEngine
package import Dialer
import Reactor
import Web

/// A page for Prometheus. From any thread.
final class RunMetrics: Sendable {
    /// Where it is, with the port that the system chose.
    let address: SocketAddress
    private let web: WebThread
    private let latest: Locked<@Sendable (inout MetricsText) -> Void>

    /// - Parameter control: the loop that gathers the figures; none of the calls'.
    init(
        at address: SocketAddress, on control: EpollLoop, version: String, _ calling: CallingEngine
    ) throws(CommandFailure) {
        let latest = Locked<@Sendable (inout MetricsText) -> Void>({ _ in })
        self.latest = latest
        let started = control.wallClock
        let (engine, loops) = (calling.engine, calling.loops)
        let route = HTTPRoute(.get, "/metrics", on: control) { _ in
            let figures = ServerFigures(
                version: version, startedAt: started, engine: engine, loops: loops, isDraining: false)
            var text = MetricsText()
            latest.withLock({ $0 })(&text)
            return HTTPResponse(
                headers: ["content-type": MetricsText.contentType], body: Array((figures.metrics + text.text).utf8))
        }
        do throws(WebStartError) {
            web = try WebThread(listeners: [WebListener(address, routes: [route])])
        } catch {
            throw ControlRoutes.failure(error)
        }
        self.address = web.addresses[0]
    }

    /// From now on these figures of the run are shown, too.
    func show(_ figures: @escaping @Sendable (inout MetricsText) -> Void) { latest.withLock { $0 = figures } }

    func close() { web.stopAndWait(grace: .milliseconds(100)) }
}

extension MetricsText {
    /// The figures of a load run.
    package mutating func add(_ progress: LoadProgress) {
        let statistics = progress.statistics
        add(
            "ringwright_load_calls_total", .counter, "Calls of the load run.",
            [("placed", statistics.placed), ("answered", statistics.answered), ("failed", statistics.failed)].map {
                ([("result", $0.0)], Double($0.1))
            })
        let reasons =
            statistics.byStatus.sorted { $0.key < $1.key }.map { (String($0.key), $0.value) }
            + statistics.byCause.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        add(
            "ringwright_load_failures_total", .counter, "Failed calls of the load run, by status or cause.",
            reasons.map { ([("reason", $0.0)], Double($0.1)) })
        add("ringwright_load_rate", .gauge, "Calls that began in the second before.", progress.rate)
        quantiles("ringwright_load_ringing_seconds", "How long it took until the other side rang.", statistics.ringing, 1e6)
        quantiles("ringwright_load_answer_seconds", "How long answers took since the start.", statistics.answer, 1e6)
        quantiles("ringwright_load_bye_seconds", "How long answers to BYE took.", statistics.bye, 1e6)
        add(
            "ringwright_load_retransmissions_total", .counter, "Requests that were sent again.",
            Double(statistics.retransmissions))
        add(
            "ringwright_load_rtp_packets_total", .counter, "RTP packets of the calls that are over.",
            [
                ([("kind", "sent")], Double(statistics.sent)), ([("kind", "received")], Double(statistics.received)),
                ([("kind", "lost")], Double(statistics.lost))
            ])
        quantiles("ringwright_load_jitter_seconds", "Jitter of the calls that are over.", statistics.jitter, 1e6)
        quantiles("ringwright_load_mos", "Mean opinion scores of the calls that are over.", statistics.score, 100, [0.05, 0.5])
        add(
            "ringwright_load_one_way_total", .counter, "Answered calls that sent audio and heard none.",
            Double(statistics.oneWay))
        add(
            "ringwright_load_start_lateness_seconds", .gauge, "How late 99 of 100 calls began at most.",
            Double(progress.health.lateness.quantile(0.99)) / 1e6)
        let hit = Set(progress.health.limitsHit)
        add(
            "ringwright_load_limit_hit", .gauge, "Whether this machine reached an own limit, which falsifies the run.",
            GeneratorHealth.Limit.allCases.map { ([("limit", $0.rawValue)], hit.contains($0) ? 1 : 0) })
    }

    /// - Parameter unit: what a value is divided by.
    private mutating func quantiles(
        _ name: String, _ help: String, _ histogram: Histogram, _ unit: Double, _ shares: [Double] = [0.5, 0.9, 0.99, 0.999]
    ) {
        // Nothing is not zero.
        guard histogram.count > 0 else { return }
        add(name, .gauge, help, shares.map { ([("quantile", "\($0)")], Double(histogram.quantile($0)) / unit) })
    }

    /// The figures of a campaign.
    /// - Parameter before: what was in the database when this process came.
    package mutating func add(_ figures: CampaignFigures, before: CampaignStore.Counts) {
        add(
            "ringwright_campaign_attempts_total", .counter, "Attempts of this process that ended.",
            [("passed", figures.passed), ("failed", figures.failed), ("error", figures.error)].map {
                ([("result", $0.0)], Double($0.1))
            })
        add("ringwright_campaign_retries_total", .counter, "Attempts after which the row is called again.", Double(figures.again))
        add("ringwright_campaign_active", .gauge, "Calls of this process that run.", Double(figures.active))
        add("ringwright_campaign_targets", .gauge, "Rows of the list.", Double(before.targets))
        let over = figures.over(before)
        add("ringwright_campaign_targets_over", .gauge, "Rows that are not called again, of all workers.", Double(over.rows))
        add("ringwright_campaign_targets_failed", .gauge, "Those of them that did not pass.", Double(over.failed))
        add(
            "ringwright_campaign_workers", .gauge, "Processes that work on the campaign.",
            Double(1 + (figures.whole?.others.count ?? 0)))
    }
}
