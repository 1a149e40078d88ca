// The real engine on a real loop with ports that the system chose, and flows written as Swift functions. What calls saw is kept for
// the test; at the end nothing may be left.

import Basics
import CallEngine
import Reactor
import SDP
import SIP
import TestKit
import Testing

/// What is known about a call after its end.
struct CallReport: Sendable {
    var info: CallInfo
    var end: CallEnd
    /// Every key that was pressed, in order.
    var keys: String
    /// What the flow noted down.
    var notes: [String]
    var recording: RecordingResult?
    /// What the flow threw, cancellation aside.
    var error: String?
}

/// What a flow writes down while it runs. Belongs to the call's loop.
final class Notes {
    fileprivate(set) var lines: [String] = []
    fileprivate var recording: Recording?
    fileprivate var failure: String?
    private let tell: (String) -> Void

    fileprivate init(_ tell: @escaping (String) -> Void) { self.tell = tell }

    func add(_ line: String) {
        lines.append(line)
        tell(line)
    }
    /// The recording whose result the report shall have.
    func keep(_ recording: Recording) { self.recording = recording }
}

typealias TestFlow = @Sendable (Call, Notes) async throws -> Void

/// An engine that answers and places calls on 127.0.0.1.
final class EngineUnderTest: Sendable {
    let engine: Engine
    private let loops: [EpollLoop]
    private let workers: MediaWorkers
    private let names: WorkerPool
    private let tracing: CallTracing?
    private let seen: Seen

    /// What became of the calls so far, and what tells it to who waits.
    private final class Seen: Sendable {
        let reports = Locked<[CallReport]>([])
        let messages = Locked<[TracedMessage]>([])
        let texts = Locked<[TextMessage]>([])
        /// What the flows of all calls noted down.
        let notes = Locked<[String]>([])
        let changes = Changes()

        func add<Item: Sendable>(_ item: Item, to list: Locked<[Item]>) {
            list.withLock { $0.append(item) }
            changes.tell()
        }
    }

    /// - Parameter flow: what is done with calls that come in; nil refuses them.
    init(
        loops count: Int = 1, lines: [LineSettings] = [], codecs: [String] = ["pcmu", "pcma"],
        timers: SIPTimers = SIPTimers(), rtpTimeout: Duration = .seconds(20), limits: Admission.Limits = Admission.Limits(),
        registrar: RegistrarSettings? = nil, tls: TLSContext? = nil, security: MediaSecurity = .accepted,
        comfortNoise: ComfortNoisePolicy = .accepted, traces: TraceSettings? = nil, flow: TestFlow? = nil
    ) throws {
        let local = SocketAddress(ip: .loopback4, port: 0)
        var settings = EngineSettings(listeners: [.init(.udp, local), .init(.tcp, local)])
        settings.lines = lines
        settings.tls = tls
        settings.security = security
        settings.comfortNoise = comfortNoise
        if tls?.canServe == true { settings.listeners.append(.init(.tls, local)) }
        settings.codecs = codecs
        settings.timers = timers
        settings.rtpTimeout = rtpTimeout
        settings.limits = limits
        settings.registrar = registrar
        // A range of its own for each engine, so that two of them (and two test runs) seldom meet.
        let first = UInt16.random(in: 10_000...14_000) * 4
        settings.rtpPorts = first...(first + 799)
        let loops = try (0..<count).map { try EpollLoop(name: "calls-\($0)") }
        for loop in loops { try loop.start() }
        self.loops = loops
        workers = try MediaWorkers()
        names = try WorkerPool(name: "names", threads: 1, limit: 64)
        tracing = if let traces { try CallTracing(traces) } else { nil }
        let seen = Seen()
        self.seen = seen
        engine = try Engine(
            settings: settings, loops: loops, workers: workers, nameWorkers: names, seed: .random(in: .min ... .max),
            tracing: tracing, trace: { seen.add($0, to: seen.messages) },
            onLine: { _ in seen.changes.tell() },
            onMessage: { seen.add($0, to: seen.texts) },
            onRegistrar: { _ in seen.changes.tell() },
            onIncoming: { call in
                guard let flow else { return call.hangUp(HangUpReason(status: 480)) }
                Self.run(flow, on: call, into: seen)
            })
    }

    /// What came by MESSAGE.
    var texts: [TextMessage] { seen.texts.withLock { $0 } }
    var udpPort: UInt16 { port(.udp) }
    var tcpPort: UInt16 { port(.tcp) }
    var tlsPort: UInt16 { port(.tls) }

    func port(_ transport: EngineSettings.Listener.Transport) -> UInt16 {
        engine.listeners.first { $0.transport == transport }!.address.port
    }

    /// Places a call and runs `flow` on it.
    func call(_ request: CallRequest, flow: @escaping TestFlow) {
        engine.withShard(0) { [seen] shard in
            do {
                Self.run(flow, on: try shard.place(request), into: seen)
            } catch {
                Issue.record("the call was not placed: \(error)")
            }
        }
    }

    /// The flow runs as a task of the call's loop and is cancelled by the call's end, as in the product.
    private static func run(_ flow: @escaping TestFlow, on call: Call, into seen: Seen) {
        let notes = Notes { seen.add($0, to: seen.notes) }
        let over = Waiter<CallEnd>()
        let task = call.loop.spawn {
            do {
                try await flow(call, notes)
            } catch is CancellationError {
            } catch {
                notes.failure = "\(error)"
            }
            call.hangUp(.normal)
        }
        call.onEnd = { end in
            task.cancel()
            over.resume(returning: end)
        }
        call.loop.spawn {
            let end = try? await over.wait()
            await task.finished()
            if let recording = notes.recording {
                // The recorder's thread closes the file after the call is over.
                let closed = Waiter<Void>()
                recording.onEnd = { _ in closed.resume(returning: ()) }
                _ = try? await closed.wait()
            }
            let report = CallReport(
                info: call.info, end: end ?? CallEnd(by: .engine, cause: .error), keys: call.digits.history, notes: notes.lines,
                recording: notes.recording?.result, error: notes.failure)
            seen.add(report, to: seen.reports)
        }
    }

    /// Waits until `condition` holds. It is asked again after each message, note, report, and event of a line or the registrar.
    func wait(_ limit: Duration, until condition: () -> Bool) -> Bool { seen.changes.wait(within: limit, until: condition) }

    /// Lets the loop's clock pass `delay`: what it was to do by then is done, in its order.
    func pass(_ delay: Duration) {
        let isOver = Outcome<Void>()
        let loop = loops[0]
        loop.execute { loop.schedule(after: delay) { isOver.set(()) } }
        isOver.wait()
    }

    /// Waits until a flow has noted this.
    func waitForNote(_ note: String, _ limit: Duration = .seconds(10)) -> Bool {
        wait(limit) { seen.notes.withLock { $0.contains(note) } }
    }

    /// Waits until this many re-INVITEs (and INVITEs) were sent or came in.
    func waitForInvites(_ count: Int, sent: Bool, _ limit: Duration = .seconds(8)) -> Bool {
        wait(limit) { invites(sent: sent).count >= count }
    }

    func invites(sent: Bool) -> [String] {
        messages.filter { $0.sent == sent && $0.text.hasPrefix("INVITE") }.map(\.text)
    }

    /// Waits until `count` calls are over, flows and recordings included.
    func reports(_ count: Int, within limit: Duration = .seconds(10)) -> [CallReport] {
        _ = wait(limit) { seen.reports.withLock { $0.count } >= count }
        return seen.reports.withLock { $0 }
    }

    /// Ports that its SIP messages came from and went to.
    var remotePorts: Set<UInt16> { Set(seen.messages.withLock { $0 }.map(\.remote.port)) }

    /// Everything that passed the SIP sockets, as text.
    var messages: [(sent: Bool, text: String)] {
        seen.messages.withLock { $0 }.map { ($0.direction == .sent, String(decoding: $0.bytes, as: UTF8.self)) }
    }

    /// Ends it and checks that no call, task or socket is left.
    func close(_ place: SourceLocation = #_sourceLocation) {
        let engine = self.engine
        let isIdle = Outcome<Void>()
        engine.gate.whenIdle { isIdle.set(()) }
        #expect(isIdle.wait(within: .seconds(2)) != nil, "calls are left", sourceLocation: place)
        engine.close()
        for loop in loops {
            let left = loop.stop(within: .seconds(1))
            #expect(left.tasks == 0, "tasks are left", sourceLocation: place)
            #expect(left.sockets == 0, "sockets are left", sourceLocation: place)
        }
        tracing?.stop()
        workers.stop()
        names.stop()
    }
}
