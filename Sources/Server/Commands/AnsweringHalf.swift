// The other end of a load run's calls, when it is the same process: a server without pages and limits.

import CallEngine
import Foundation

struct AnsweringHalf: Sendable {
    let server: RunningServer
    private let logThread: LogThread

    /// Opens the sockets and waits until the lines are registered.
    /// - Parameters:
    ///   - flow: for calls that no route of the configuration takes.
    ///   - configuration: its RTP ports are for this half alone.
    init(
        _ flow: String, _ options: LoadOptions, _ configuration: Configuration, _ version: String,
        _ progress: @escaping @Sendable (String) -> Void
    ) throws(CommandFailure) {
        var configuration = configuration
        configuration.control.listen = nil
        (configuration.limits.calls, configuration.limits.callsPerSecond) = (10_000_000, 1_000_000)
        if options.isSilent { configuration.rtp.timeout = .zero }
        let rules = ServerRules(
            configuration, flows: try FlowTable(configuration, flow: flow), tls: try configuration.secureSetup())
        logThread = try LogThread(Configuration.Log(level: .warning)) { progress($0) }
        let lines = RegisteredLines(Set(configuration.lines.filter { $0.registration != nil }.map(\.name)))
        do throws(CommandFailure) {
            server = try RunningServer(
                rules, version: version, loopCount: options.loops ?? ProcessInfo.processInfo.activeProcessorCount,
                log: logThread.log, counts: true, onLine: { lines.heard($0) })
        } catch {
            logThread.stop()
            throw error
        }
        if let failure = lines.wait(server.engine, "calls come back") {
            close()
            throw failure
        }
        for listener in server.listening { progress("answering on \(listener)") }
    }

    /// Once, and not from a loop.
    func close() {
        server.close()
        logThread.stop()
    }
}
