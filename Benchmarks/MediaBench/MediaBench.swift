// Media alone, over real loopback: sessions in pairs on one loop, both ends in this process, as Benchmarks/floor.c has it.
//
//   MediaBench [--sessions 500] [--seconds 10] [--prompt FILE] [--codec pcmu] [--srtp] [--record FOLDER] [--inband]
//              [--bridge [--other-codec NAME]] [--conference MEMBERS [--speakers COUNT]] [--core N] [--bind ADDRESS]
//   MediaBench --barge-in --prompt FILE [--sessions 2000] …    one key in each call while its prompt plays
//   MediaBench --codec-time [--codec NAME] [--other-codec NAME]    decoding one and encoding the other, without packets
//
// Prints one line of JSON: CPU time of the process for a packet sent and received and for a call (one session) and second, memory for a
// session, what was lost or late; with --bridge, what forwarding adds to a packet's way.

import Basics
import CallEngine
import Glibc
import Reactor

@main
enum MediaBench {
    static func main() throws {
        _ = try? DescriptorLimit.raise()
        let plan = Plan(CommandLine.arguments)
        if plan.measuresCodecs {
            print(try CodecTime.measure(plan))
            return
        }
        let workers = try MediaWorkers()
        if plan.bargesIn {
            print(try BargeIn.run(plan, workers))
            return
        }
        let loop = try EpollLoop(name: "media", core: plan.core)
        try loop.start()
        loop.execute {
            loop.spawn {
                do {
                    let services = MediaServices(loop: loop, ports: 20000...59999, bindTo: plan.bindTo, workers: workers)
                    print(try await run(plan, services))
                    exit(0)
                } catch {
                    print(error)
                    exit(3)
                }
            }
        }
        while true { sleep(3600) }
    }

    /// Lets all sessions talk for the planned time, after two seconds in which caches and sockets settle.
    static func run(_ plan: Plan, _ services: MediaServices) async throws -> String {
        // Sockets included, without what the kernel keeps of them.
        let before = Process.residentBytes()
        let sessions = try plan.open(services)
        let agreed = Process.residentBytes()
        try start(plan, sessions, services)
        try await services.loop.sleep(for: .seconds(2))
        let playing = Process.residentBytes()
        let first = Moment(services)
        let delays = try await watch(plan, sessions, services.loop)
        let last = Moment(services)
        defer { for session in sessions { session.close() } }
        let packets = Double(last.counters.packetsReceived - first.counters.packetsReceived)
        let seconds = (last.at - first.at).seconds
        let micros = (last.cpu - first.cpu) * 1e6
        let clock = last.counters.clock
        var figures: [(String, Double)] = [
            ("sessions", Double(sessions.count)), ("packets_per_second", packets / seconds),
            ("cpu_percent", micros / seconds / 10_000),
            ("us_per_packet", micros / packets), ("us_per_call_second", micros / seconds / Double(sessions.count)),
            ("agreed_bytes", Double((agreed - before) / sessions.count)),
            ("playing_bytes", Double((playing - before) / sessions.count)),
            ("lost", Double(sessions.map(\.report.lost).reduce(0, +))),
            ("worst_jitter_ms", sessions.map { $0.report.jitter.milliseconds }.max() ?? 0),
            ("slices", Double(clock.slices)), ("late_slices", Double(clock.lateSlices)),
            ("worst_lateness_us", Double(clock.worstLateness) / 1000), ("skipped_ticks", Double(clock.skippedTicks))
        ]
        if let delays {
            figures.append(("forwarding_median_us", delays.quantile(0.5)))
            figures.append(("forwarding_p99_us", delays.quantile(0.99)))
        }
        return Figures.line(figures)
    }

    /// With `--bridge` each second pair's inner sides are connected: player - leg, leg - player.
    static func start(_ plan: Plan, _ sessions: [MediaSession], _ services: MediaServices) throws {
        if plan.members > 0 { return try confer(plan, sessions, services) }
        for (index, session) in sessions.enumerated() {
            if plan.isBridged, index % 4 == 1, index + 1 < sessions.count {
                session.connect(to: sessions[index + 1])
            } else if let prompt = plan.prompt, !plan.isBridged || index % 4 == 0 || index % 4 == 3 {
                _ = session.play(PlaybackRequest([.file(path: prompt)], loop: .forever))
            }
            if let folder = plan.recordings {
                _ = try? session.record(RecordingRequest(path: "\(folder)/\(index).wav", channels: .stereo))
            }
        }
    }

    /// One end of each pair is a member of a room; the other one is the telephone behind it, which speaks in `speakers` pairs a room.
    static func confer(_ plan: Plan, _ sessions: [MediaSession], _ services: MediaServices) throws {
        let directory = ConferenceDirectory([LoopBound(ConferenceRooms(services: services), on: services.loop)])
        for pair in 0..<sessions.count / 2 {
            _ = try sessions[pair * 2].join(ConferenceRequest(room: "\(pair / plan.members)"), of: directory)
            guard pair % plan.members < plan.speakers, let prompt = plan.prompt else { continue }
            _ = sessions[pair * 2 + 1].play(PlaybackRequest([.file(path: prompt)], loop: .forever))
        }
    }

    /// Waits; of bridged sessions it looks meanwhile when the same packet came to the leg and to the far end behind it, by the kernel's
    /// stamps, in microseconds.
    static func watch(_ plan: Plan, _ sessions: [MediaSession], _ loop: EventLoop) async throws -> [Double]? {
        guard plan.isBridged else {
            try await loop.sleep(for: .seconds(Int64(plan.seconds)))
            return nil
        }
        let chains = Array(stride(from: 0, to: sessions.count - 3, by: 4))
        var delays: [Double] = []
        for _ in 0..<plan.seconds * 5 {
            try await loop.sleep(for: .milliseconds(180))
            let atLeg = chains.map { sessions[$0 + 1].lastHeard }
            var waiting = Array(chains.indices)
            // A player's port is read once a packet time: what has come to the leg is with it now, or after its next tick.
            for wait in [Duration.zero, .milliseconds(20)] {
                if wait > .zero { try await loop.sleep(for: wait) }
                waiting.removeAll { chain in
                    let delay = (sessions[chains[chain] + 3].lastHeard - atLeg[chain]).nanoseconds
                    guard (0..<10_000_000).contains(delay) else { return false }
                    delays.append(Double(delay) / 1000)
                    return true
                }
            }
        }
        guard delays.count > plan.seconds * chains.count else { throw TooFewSamples(count: delays.count) }
        return delays
    }

    /// Less than a fifth of the packets that were looked at were seen at both.
    struct TooFewSamples: Error {
        let count: Int
    }
}
