// What /metrics says about the media of calls, while they run and after them; and that the list of metrics in the documentation is whole.

import Basics
import CallEngine
import Dialer
import Foundation
import Reactor
import Server
import TestKit
import Testing

@Suite struct MediaFiguresTests {
    /// The samples by name and labels.
    private func samples(_ figures: ServerFigures) -> [String: Double] {
        var samples: [String: Double] = [:]
        for line in figures.metrics.split(separator: "\n") where !line.hasPrefix("#") {
            guard let blank = line.lastIndex(of: " ") else { continue }
            samples[String(line[..<blank])] = Double(line[blank...].dropFirst())
        }
        return samples
    }

    private func figures(_ engine: Engine) -> ServerFigures {
        ServerFigures(version: "1", startedAt: 0, engine: engine, loops: [], isDraining: false, lostPackets: 0)
    }

    @Test func aCallShowsWhileItRuns() throws {
        let world = VirtualWorld(seed: 1)
        let server = try world.engine(
            at: "192.0.2.1", settings: { $0.rtpPorts = 20000...20001 },
            onIncoming: { call in call.loop.spawn { try? await call.answer() } })
        let callers = try world.engine(at: "192.0.2.2")
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        for _ in 0..<200 where server.mediaCounters.sessions == 0 { world.loop.run(for: .milliseconds(5)) }
        // Garbage while the source is still looked for, and a call for which no port is left.
        let stranger = try world.loop.bindDatagram(to: SocketAddress("198.51.100.1:9")!)
        [0xFF, 0xFF].withUnsafeBytes { stranger.send($0, to: SocketAddress("192.0.2.1:20000")!) }
        world.loop.run(for: .seconds(1))
        _ = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(11))
        stranger.close()
        let during = samples(figures(server))
        #expect(during["ringwright_rtp_sessions"] == 1)
        #expect(during[#"ringwright_rtp_port_pairs{state="in-use"}"#] == 1)
        #expect((500...700).contains(during[#"ringwright_rtp_packets_total{direction="sent"}"#] ?? 0))
        #expect((500...700).contains(during[#"ringwright_rtp_packets_total{direction="received"}"#] ?? 0))
        #expect(during[#"ringwright_rtp_dropped_total{reason="malformed"}"#] == 1)
        #expect(during["ringwright_rtp_port_refusals_total"] == 1)
        #expect(during[#"ringwright_calls_refused_total{limit="ports"}"#] == 1)
        #expect(during["ringwright_calls_unacceptable_total"] == 0)
        #expect((500...700).contains(during["ringwright_media_slices_total"] ?? 0))
        #expect(during["ringwright_media_late_slices_total"] == 0)
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        let after = samples(figures(server))
        #expect(after["ringwright_rtp_sessions"] == 0 && after["ringwright_rtp_sessions_total"] == 1)
        #expect(after[#"ringwright_rtp_port_pairs{state="in-use"}"#] == 0)
        #expect(world.finish() == [])
    }

    @Test func everyMetricIsInTheDocumentation() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/metrics.md")
            .standardizedFileURL
        let text = try String(contentsOf: page, encoding: .utf8)
        let written = text.matches(of: /\|\s`(ringwright_[a-z_]+)`/).map { String($0.output.1) }
        var load = MetricsText()
        var statistics = LoadStatistics()
        for path in [\LoadStatistics.ringing, \.answer, \.bye, \.jitter, \.score] { statistics[keyPath: path].record(1) }
        load.add(
            LoadProgress(elapsed: .zero, statistics: statistics, active: 0, rate: 0, health: GeneratorHealth()))
        var campaign = MetricsText()
        campaign.add(CampaignFigures(), before: CampaignStore.Counts())
        let real = (figuresWithEverything.metrics + load.text + campaign.text).matches(of: /# TYPE (\S+)/).map {
            String($0.output.1)
        }
        #expect(written == real)
    }

    private var figuresWithEverything: ServerFigures {
        var figures = ServerFigures(version: "1", startedAt: 0)
        figures.lostPackets = 0
        figures.lines = [LineStatus(name: "desk")]
        figures.registrar = RegistrarFigures()
        figures.prompts = PromptFigures()
        return figures
    }
}
