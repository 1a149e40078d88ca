// Ctrl-C, SIGTERM and a terminal that is lost, of commands that end by themselves.

import Reactor
import Server

/// What asks a command to end, heard on a small loop of its own: Ctrl-C, SIGTERM, and SIGHUP (the terminal is gone) unless the command was
/// started so that it outlives that (`nohup`).
struct InterruptSignal {
    private let loop: EpollLoop

    init(
        _ more: [ProcessSignal] = [], _ action: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let signals = [.terminate, .interrupt] + (ProcessSignal.hangup.isIgnored ? [] : [.hangup]) + more
        let loop = try EpollLoop(name: "signals")
        self.loop = loop
        try loop.start()
        try loop.runAndWait { () throws(SystemError) in
            _ = try SignalSource(loop: loop, signals: signals) { _ in action() }
        }
    }

    func stop() { loop.stop() }
}

/// Runs a command that ends in an orderly way: the first Ctrl-C drains, the next one ends.
func runDraining(
    _ body: (StopRequests) async throws(CommandFailure) -> CommandOutcome
) async throws(CommandFailure) -> ExitStatus {
    ProcessSignal.ignoreBrokenPipes()
    let stops = StopRequests()
    let signals = try? InterruptSignal { stops.request() }
    defer { signals?.stop() }
    return Terminal.show(try await body(stops))
}
