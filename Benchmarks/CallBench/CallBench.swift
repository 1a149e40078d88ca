// The program that scripts/bench measures: the engine as answering or as calling side, on one loop, without anything else around it.
//
//   CallBench answer --port 5070 [--media PROMPT.wav]
//   CallBench place --target 5070 --rate 4000 --calls 20000 [--hold 15000] [--media PROMPT.wav]

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
            case "answer": try answer(port: UInt16(number("--port", 5070)), prompt: option("--media"))
            case "place":
                try place(
                    target: number("--target", 5070), rate: number("--rate", 100), count: number("--calls", 100),
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

    static func engine(port: UInt16, rtp: ClosedRange<UInt16>, onIncoming: @escaping @Sendable (Call) -> Void) throws -> Engine {
        let loop = try EpollLoop(name: "loop")
        try loop.start()
        let settings = EngineSettings(
            listeners: [.init(.udp, SocketAddress(ip: .loopback4, port: port))], rtpPorts: rtp,
            limits: .init(calls: 100_000, callsPerSecond: 1_000_000), codecs: ["pcma", "pcmu"])
        return try Engine(
            settings: settings, loops: [loop], workers: MediaWorkers(),
            nameWorkers: WorkerPool(name: "names", threads: 1, limit: 64), seed: .random(in: 0...UInt64.max),
            onIncoming: onIncoming)
    }

    static func answer(port: UInt16, prompt: String?) throws {
        let engine = try engine(port: port, rtp: 30000...49999) { call in
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
    static func place(target: Int, rate: Int, count: Int, hold: Duration, prompt: String?) throws {
        let engine = try engine(port: 0, rtp: 10000...29999) { call in call.hangUp(.normal) }
        let tally = Locked(Tally())
        engine.withShard(0) { shard in
            let pacer = Pacer(
                shard: shard, target: "sip:bench@127.0.0.1:\(target)", rate: rate, count: count, hold: hold, prompt: prompt,
                tally: tally)
            pacer.start()
        }
        while tally.withLock({ $0.successful + $0.failed }) < count { usleep(20_000) }
        // The answers to the last BYEs.
        usleep(100_000)
        let sum = tally.withLock { $0 }
        print(
            #"{"successful":\#(sum.successful),"failed":\#(sum.failed),"sent":\#(sum.sent),"received":\#(sum.received),"lost":\#(sum.lost)}"#
        )
        exit(0)
    }
}

struct Tally: Sendable {
    var successful = 0
    var failed = 0
    var sent: UInt64 = 0
    var received: UInt64 = 0
    var lost: Int64 = 0
}

/// Starts calls on time: every millisecond those that are due.
final class Pacer {
    private let shard: CallShard
    private let request: CallRequest
    private let rate: Int
    private let count: Int
    private let hold: Duration
    private let prompt: String?
    private let tally: Locked<Tally>
    private var placed = 0
    private var began = Instant.zero

    init(shard: CallShard, target: String, rate: Int, count: Int, hold: Duration, prompt: String?, tally: Locked<Tally>) {
        self.shard = shard
        request = CallRequest(target: target)
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
        guard let call = try? shard.place(request), !call.state.isEnded else { return tally.withLock { $0.failed += 1 } }
        let (hold, prompt, tally) = (hold, prompt, tally)
        let task = call.loop.spawn {
            do {
                guard case .reached = try await call.wait(for: .answered, timeout: nil) else { return }
                if let prompt { _ = call.play(PlaybackRequest([.file(path: prompt)], loop: .forever)) }
                if hold > .zero { try await call.loop.sleep(for: hold) }
                call.hangUp(.normal)
            } catch {}
        }
        call.onEnd = { [unowned call] end in
            let report = call.mediaReport
            let answered = call.answeredAt != nil
            tally.withLock {
                if answered, end.cause == .normal { $0.successful += 1 } else { $0.failed += 1 }
                $0.sent += report.sent
                $0.received += report.received
                $0.lost += max(0, report.lost)
            }
            if !answered { task.cancel() }
        }
    }
}
