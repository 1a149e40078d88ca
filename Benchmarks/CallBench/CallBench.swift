// The program that scripts/bench measures: the engine as answering or as calling side, on one loop, without anything else around it.
//
//   CallBench answer --port 5070 [--media PROMPT.wav] [--limit CALLS]
//   CallBench place --target 5070 --rate 4000 --calls 20000 [--hold 15000] [--media PROMPT.wav]
//
// With --transport tcp or tls on both sides; tls takes --certificate FILE.pem --key FILE.pem on the answering side and --ca FILE.pem on the
// calling one. --spread (both sides) calls another address of 127.0.0.0/8 each time, so that every call has a connection of its own; certificates are
// then believed whatever they name. --pace MICROSECONDS: how long the busy loop lets messages gather. --unsegmented: each
// message goes to the kernel by itself.

import Basics
import CallEngine
import Glibc
import Reactor

@main
enum CallBench {
    static func main() {
        let arguments = CommandLine.arguments
        func option(_ name: String) -> String? {
            arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
        }
        func number(_ name: String, _ standard: Int) -> Int { option(name).flatMap { Int($0) } ?? standard }
        _ = try? DescriptorLimit.raise()
        do {
            switch arguments.dropFirst().first {
            case "answer":
                let transport = transport(option("--transport"))
                try answer(
                    .init(
                        transport,
                        SocketAddress(
                            ip: arguments.contains("--spread") ? .any4 : .loopback4, port: UInt16(number("--port", 5070)))),
                    limit: number("--limit", 100_000), tls: transport == .tls ? try tls(option) : nil, prompt: option("--media"))
            case "place":
                let transport = transport(option("--transport"))
                let spread = arguments.contains("--spread")
                try place(
                    Targets(port: number("--target", 5070), transport: transport, spread: spread),
                    tls: transport == .tls ? try tls(option, verifies: !spread) : nil, rate: number("--rate", 100),
                    count: number("--calls", 100),
                    hold: .milliseconds(number("--hold", 0)), prompt: option("--media"))
            default:
                print("usage: CallBench answer|place …")
                exit(2)
            }
        } catch {
            print(error)
            exit(3)
        }
    }

    static func transport(_ name: String?) -> EngineSettings.Listener.Transport {
        guard let name else { return .udp }
        guard let transport = EngineSettings.Listener.Transport(rawValue: name) else {
            print("--transport is udp, tcp or tls")
            exit(2)
        }
        return transport
    }

    static func tls(_ option: (String) -> String?, verifies: Bool = true) throws -> TLSContext {
        var settings = TLSSettings()
        settings.certificate = option("--certificate")
        settings.key = option("--key")
        if let path = option("--ca") { settings.authorities = .file(path) }
        settings.verifiesServers = verifies
        return try TLSContext(settings)
    }

    static var pace: Duration {
        let arguments = CommandLine.arguments
        guard let index = arguments.firstIndex(of: "--pace"), index + 1 < arguments.count, let value = Int(arguments[index + 1])
        else { return EpollLoop.standardPace }
        return .microseconds(value)
    }

    static func engine(
        _ listener: EngineSettings.Listener, limit: Int = 100_000, tls: TLSContext?, rtp: ClosedRange<UInt16>,
        onIncoming: @escaping @Sendable (Call) -> Void
    ) throws -> Engine {
        let loop = try EpollLoop(name: "loop", pace: pace)
        try loop.start()
        var settings = EngineSettings(
            listeners: [listener], streams: .init(limit: 100_000), rtpPorts: rtp,
            limits: .init(calls: limit, callsPerSecond: 1_000_000), tls: tls, codecs: ["pcma", "pcmu"])
        if CommandLine.arguments.contains("--unsegmented") { settings.segmentation = .off }
        return try Engine(
            settings: settings, loops: [loop], workers: MediaWorkers(),
            nameWorkers: WorkerPool(name: "names", threads: 1, limit: 64), seed: .random(in: 0...UInt64.max),
            onIncoming: onIncoming)
    }

    static func answer(_ listener: EngineSettings.Listener, limit: Int, tls: TLSContext?, prompt: String?) throws {
        let engine = try engine(listener, limit: limit, tls: tls, rtp: 30000...49999) { call in
            let task = call.loop.spawn {
                do {
                    try await call.answer()
                    if let prompt { _ = call.play(PlaybackRequest([.file(path: prompt)], loop: .forever)) }
                    try await call.loop.sleep(for: .seconds(3600))
                } catch {}
            }
            call.onEnd = { _ in task.cancel() }
        }
        print("ready")
        fflush(nil)
        while true {
            sleep(1)
            _ = engine.gate.active
        }
    }

    /// Places calls at an even rate; each hangs up `hold` after its answer. Ends when all are over.
    static func place(_ targets: Targets, tls: TLSContext?, rate: Int, count: Int, hold: Duration, prompt: String?) throws {
        // A listener of TLS would need a certificate; without one requests of the peer come by the connections that stand.
        let listener = EngineSettings.Listener(
            targets.transport == .tcp ? .tcp : .udp, SocketAddress(ip: .loopback4, port: 0))
        let engine = try engine(listener, tls: tls, rtp: 10000...29999) { call in call.hangUp(.normal) }
        let tally = Locked(Tally())
        engine.withShard(0) { shard in
            let pacer = Pacer(
                shard: shard, targets: targets, rate: rate, count: count, hold: hold, prompt: prompt, tally: tally)
            pacer.start()
        }
        while tally.withLock({ $0.successful + $0.failed }) < count { usleep(20_000) }
        // The answers to the last BYEs.
        usleep(100_000)
        let sum = tally.withLock { $0 }
        let seen = Outcome<MediaClockCounters>()
        engine.withShard(0) { seen.set($0.services.counters.clock) }
        let clock = seen.wait()
        print(
            #"{"successful":\#(sum.successful),"failed":\#(sum.failed),"sent":\#(sum.sent),"received":\#(sum.received),"lost":\#(sum.lost),"jitter_p99_ms":\#(sum.jitter99),"#
                + #""slices":\#(clock.slices),"late_slices":\#(clock.lateSlices),"skipped_ticks":\#(clock.skippedTicks),"handshakes":\#(engine.signalingCounters.handshakes)}"#
        )
        exit(0)
    }
}

/// Whom the calls go to.
struct Targets: Sendable {
    let port: Int
    let transport: EngineSettings.Listener.Transport
    let spread: Bool

    func request(_ index: Int) -> CallRequest {
        let host = spread ? "127.\(1 + index / 62_500 % 250).\(1 + index / 250 % 250).\(1 + index % 250)" : "127.0.0.1"
        return CallRequest(target: "sip:bench@\(host):\(port)" + (transport == .udp ? "" : ";transport=\(transport)"))
    }
}

struct Tally: Sendable {
    var successful = 0
    var failed = 0
    var sent: UInt64 = 0
    var received: UInt64 = 0
    var lost: Int64 = 0
    /// Of each call, in milliseconds: the jitter at its end.
    var jitters: [Double] = []

    /// The value that 99 of 100 calls are not above; 0 of none.
    var jitter99: Double {
        guard !jitters.isEmpty else { return 0 }
        return jitters.sorted()[jitters.count * 99 / 100]
    }
}

/// Starts calls on time: every millisecond those that are due.
final class Pacer {
    private let shard: CallShard
    private let targets: Targets
    private let request: CallRequest
    private let rate: Int
    private let count: Int
    private let hold: Duration
    private let prompt: String?
    private let tally: Locked<Tally>
    private var placed = 0
    private var began = Instant.zero

    init(shard: CallShard, targets: Targets, rate: Int, count: Int, hold: Duration, prompt: String?, tally: Locked<Tally>) {
        self.shard = shard
        self.targets = targets
        request = targets.request(0)
        self.rate = rate
        self.count = count
        self.hold = hold
        self.prompt = prompt
        self.tally = tally
    }

    func start() {
        began = shard.loop.now
        turn()
    }

    private func turn() {
        let due = min(count, Int((shard.loop.now - began).nanoseconds * Int64(rate) / 1_000_000_000) + 1)
        while placed < due {
            placed += 1
            place()
        }
        if placed < count { shard.loop.schedule(after: .milliseconds(1)) { self.turn() } }
    }

    private func place() {
        guard let call = try? shard.place(targets.spread ? targets.request(placed) : request), !call.state.isEnded else {
            return tally.withLock { $0.failed += 1 }
        }
        let (hold, prompt, tally) = (hold, prompt, tally)
        // As a call of `load`: by what it tells, without a task of its own.
        call.onStateChange = { [unowned call] state in
            guard state == .answered else { return }
            if let prompt { _ = call.play(PlaybackRequest([.file(path: prompt)], loop: .forever)) }
            call.loop.schedule(after: hold) { call.hangUp(.normal) }
        }
        call.onEnd = { [unowned call] end in
            let report = call.mediaReport
            let answered = call.answeredAt != nil
            tally.withLock {
                if answered, end.cause == .normal { $0.successful += 1 } else { $0.failed += 1 }
                $0.sent += report.sent
                $0.received += report.received
                $0.lost += max(0, report.lost)
                if report.received > 0 { $0.jitters.append(report.jitter.milliseconds) }
            }
        }
    }
}
