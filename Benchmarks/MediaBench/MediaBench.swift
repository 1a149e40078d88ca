// Media alone, over real loopback: sessions in pairs on one loop, both ends in this process, as Benchmarks/floor.c has it.
//
//   MediaBench --sessions 500 --seconds 10 [--prompt FILE] [--bridge] [--record] [--srtp] [--core N] [--bind ADDRESS]
//
// Prints CPU time of the process for a packet sent and received, for a call (one session) and second, and memory for a session.

import Basics
import CallEngine
import Glibc
import Reactor
import SDP

@main
enum MediaBench {
    static func main() throws {
        let arguments = CommandLine.arguments
        func option(_ name: String) -> String? {
            arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
        }
        func number(_ name: String, _ standard: Int) -> Int { option(name).flatMap { Int($0) } ?? standard }
        _ = try? DescriptorLimit.raise()
        let loop = try EpollLoop(name: "media", core: option("--core").flatMap { Int($0) })
        try loop.start()
        let workers = try MediaWorkers()
        let plan = Plan(
            sessions: number("--sessions", 500), seconds: number("--seconds", 10), prompt: option("--prompt"),
            isBridged: arguments.contains("--bridge"), isRecorded: arguments.contains("--record"),
            isEncrypted: arguments.contains("--srtp"),
            bindTo: option("--bind").flatMap { IPAddress($0) } ?? .any4)
        loop.execute { loop.spawn { await run(plan, loop, workers) } }
        while true { sleep(3600) }
    }

    struct Plan: Sendable {
        var sessions: Int
        var seconds: Int
        var prompt: String?
        var isBridged: Bool
        var isRecorded: Bool
        var isEncrypted: Bool
        var bindTo: IPAddress
    }

    static func run(_ plan: Plan, _ loop: EpollLoop, _ workers: MediaWorkers) async {
        let services = MediaServices(loop: loop, ports: 20000...59999, bindTo: plan.bindTo, workers: workers)
        do {
            // Sockets included, without what the kernel keeps of them.
            let before = residentBytes()
            let sessions = try open(plan, services)
            let agreed = residentBytes()
            start(plan, sessions)
            try await loop.sleep(for: .seconds(2))
            let playing = residentBytes()
            let first = (cpu(), services.counters, loop.now)
            try await loop.sleep(for: .seconds(Int64(plan.seconds)))
            let last = (cpu(), services.counters, loop.now)
            report(plan, first, last)
            let count = sessions.count
            print("bytes a session: \((agreed - before) / count) agreed, \((playing - before) / count) playing")
            let jitter = sessions.map(\.report.jitter).max() ?? .zero
            let lost = sessions.map(\.report.lost).reduce(0, +)
            print("worst jitter \(jitter.milliseconds) ms, lost \(lost)")
            for session in sessions { session.close() }
            try await loop.sleep(for: .milliseconds(200))
            services.close()
        } catch {
            print(error)
            exit(3)
        }
        exit(0)
    }

    static func open(_ plan: Plan, _ services: MediaServices) throws -> [MediaSession] {
        var sessions: [MediaSession] = []
        for _ in 0..<plan.sessions / 2 {
            let pair = try (0..<2).map { _ in
                var settings = MediaSettings(digits: DigitInbox(), localIP: .loopback4)
                settings.security = plan.isEncrypted ? .required : .off
                return try MediaSession(services: services, settings: settings)
            }
            sessions += pair
            let answer = try pair[1].answer(pair[0].makeOffer()[...])
            pair[1].start()
            try pair[0].receive(answer: answer[...])
        }
        return sessions
    }

    /// With `--bridge` each second pair's inner sides are connected: player - leg, leg - player.
    static func start(_ plan: Plan, _ sessions: [MediaSession]) {
        for (index, session) in sessions.enumerated() {
            if plan.isBridged, index % 4 == 1, index + 1 < sessions.count {
                session.connect(to: sessions[index + 1])
            } else if let prompt = plan.prompt, !plan.isBridged || index % 4 == 0 || index % 4 == 3 {
                _ = session.play(PlaybackRequest([.file(path: prompt)], loop: .forever))
            }
            if plan.isRecorded {
                _ = try? session.record(RecordingRequest(path: "/tmp/media-bench/\(index).wav", channels: .stereo))
            }
        }
    }

    static func report(
        _ plan: Plan, _ first: (Double, MediaCounters, Instant), _ last: (Double, MediaCounters, Instant)
    ) {
        let time = (last.0 - first.0) * 1e6
        let packets = Double(last.1.packetsReceived - first.1.packetsReceived)
        let seconds = (last.2 - first.2).seconds
        print("sessions \(plan.sessions), packets a second \(Int(packets / seconds)), CPU \(Int(time / seconds / 10_000))%")
        print("us a packet sent and received: \(time / packets)")
        print("us a call and second: \(time / seconds / Double(plan.sessions))")
        let clock = last.1.clock
        print(
            "slices \(clock.slices), late \(clock.lateSlices), worst \(clock.worstLateness / 1000) us, skipped \(clock.skippedTicks)"
        )
    }

    /// Bytes of this process that are in memory.
    static func residentBytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return 0 }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return (Int(text.split(separator: " ")[1]) ?? 0) * 4096
    }

    static func cpu() -> Double {
        var usage = rusage()
        getrusage(Int32(0), &usage)  // RUSAGE_SELF
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
            / 1e6
    }
}
