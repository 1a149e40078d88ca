// An engine with the threads that it needs: for commands that place calls or ask servers, and for the called halves of tests. Used from a
// thread that is none of its loops.

import Basics
package import CallEngine
package import Reactor
import Web

package final class CallingEngine: Sendable {
    package let engine: Engine
    package let loops: [EpollLoop]
    private let workers: MediaWorkers
    private let nameWorkers: WorkerPool
    private let tracing: CallTracing?
    /// nil: no WebSockets are opened.
    private let web: WebThread?

    /// - Parameters:
    ///   - settings: those of the configuration, as the command changes them; certificates come from the configuration.
    ///   - loopCount: threads for calls.
    ///   - trace: hears every message.
    ///   - tracing: how calls are traced, and who hears what became of it; nil: they are not.
    ///   - supply: gets prompts that are no files yet.
    ///   - onLine: hears what becomes of registered lines and watched trunks.
    ///   - onIncoming: gets each call that came in, on its loop; without it nobody is here to be called.
    package init(
        _ configuration: Configuration, _ settings: EngineSettings, loopCount: Int = 1,
        trace: (@Sendable (TracedMessage) -> Void)? = nil,
        tracing wanted: (settings: TraceSettings, onEvent: @Sendable (TraceEvent) -> Void)? = nil,
        supply: (any PromptSupply)? = nil, onLine: @escaping @Sendable (LineEvent) -> Void = { _ in },
        onIncoming: @escaping @Sendable (Call) -> Void = { try? $0.reject(status: 480, reason: nil, headers: []) }
    ) throws(CommandFailure) {
        var settings = settings
        settings.tls = try configuration.secureSetup()
        settings.opensWebSockets = settings.opensWebSockets || settings.lines.contains { $0.transport.isWebSocket }
        do throws(SystemError) {
            let loops = try (0..<max(1, loopCount)).map { index throws(SystemError) in
                let loop = try EpollLoop(name: "calls-\(index)")
                try loop.start()
                return loop
            }
            self.loops = loops
            workers = try MediaWorkers(supply: supply)
            nameWorkers = try WorkerPool(name: "names", threads: 2, limit: 1024)
            tracing = if let wanted { try CallTracing(wanted.settings, onEvent: wanted.onEvent) } else { nil }
            engine = try Engine(
                settings: settings, loops: loops, workers: workers, nameWorkers: nameWorkers,
                seed: .random(in: 0 ... .max), tracing: tracing, trace: trace, onLine: onLine, onIncoming: onIncoming)
        } catch {
            throw CommandFailure(.unable, "\(error)", mend: "ringwright doctor looks for the cause")
        }
        guard settings.opensWebSockets else {
            web = nil
            return
        }
        do throws(WebStartError) {
            let web = try WebThread()
            self.web = web
            let opener = SIPWebSockets.opener(web, on: loop, tls: configuration.sip.tls)
            engine.front.run { $0.use(opener) }
        } catch {
            throw CommandFailure(.unable, "\(error)", mend: "ringwright doctor looks for the cause")
        }
    }

    /// The first one, which has the sockets.
    package var loop: EpollLoop { loops[0] }

    /// Every address of this host, on ports that the system chooses.
    package static let anywhere: [EngineSettings.Listener] = [
        .init(.udp, SocketAddress(ip: .any4, port: 0)), .init(.tcp, SocketAddress(ip: .any4, port: 0))
    ]

    /// Ends what is left and every thread. Once, and not from a loop.
    package func close() {
        engine.close()
        for loop in loops { loop.stop(within: .seconds(2)) }
        web?.stopAndWait(grace: .seconds(1))
        tracing?.stop()
        workers.stop()
        nameWorkers.stop()
    }
}
