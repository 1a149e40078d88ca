import CLinux

/// A signal that a server acts on.
package enum ProcessSignal: Int32, CaseIterable, Sendable {
    case hangup = 1
    case interrupt = 2
    case user1 = 10
    case user2 = 12
    case terminate = 15
    /// The terminal has another size.
    case windowChange = 28

    /// Writing to a peer that is gone is an error of that write, not the end of the process. Once, at the start.
    package static func ignoreBrokenPipes() { _ = rw_signal_ignore(SIGPIPE) }

    /// From now on nothing happens by it.
    package static func ignore(_ signal: ProcessSignal) { _ = rw_signal_ignore(signal.rawValue) }

    /// Nothing happens by it, as after `nohup`.
    package var isIgnored: Bool { rw_signal_is_ignored(rawValue) != 0 }
}

/// Brings signals to a loop: while it is open, its signals do not end the process but call `onSignal` on the loop. One for each signal
/// at a time in the process. (A handler that writes to a pipe: unlike signalfd it needs no signal mask in threads made by others.)
package final class SignalSource {
    private let loop: EpollLoop
    private let signals: [ProcessSignal]
    private let watcher: PipeWatcher
    private let writeEnd: Int32
    package private(set) var isClosed = false

    package init(
        loop: EpollLoop, signals: [ProcessSignal], onSignal: @escaping (ProcessSignal) -> Void
    ) throws(SystemError) {
        loop.preconditionOnLoop()
        var ends: [Int32] = [-1, -1]
        try SystemCall.check("pipe") { rw_pipe(&ends) }
        let watcher = PipeWatcher(descriptor: ends[0])
        watcher.onSignal = onSignal
        do throws(SystemError) {
            try loop.watch(watcher, for: EPOLLIN)
        } catch {
            for end in ends { SystemCall.close(end) }
            throw error
        }
        self.loop = loop
        self.signals = signals
        self.watcher = watcher
        writeEnd = ends[1]
        loop.openSockets += 1
        for signal in signals { precondition(rw_signal_catch(signal.rawValue, writeEnd) == 0, "a known signal is caught") }
        watcher.source = self
    }

    /// Gives the signals their default effect again.
    package func close() {
        loop.preconditionOnLoop()
        guard !isClosed else { return }
        isClosed = true
        loop.openSockets -= 1
        for signal in signals { _ = rw_signal_catch(signal.rawValue, -1) }
        loop.unwatch(watcher)
        SystemCall.close(watcher.descriptor)
        SystemCall.close(writeEnd)
        watcher.onSignal = nil
        watcher.source = nil
    }
}

private final class PipeWatcher: Watcher {
    var onSignal: ((ProcessSignal) -> Void)?
    var source: SignalSource?

    override func ready(_ events: UInt32) {
        var numbers = [UInt8](repeating: 0, count: 64)
        guard case .done(let count) = SystemCall.attempt({ read(descriptor, &numbers, 64) }) else { return }
        for number in numbers[..<count] {
            if let signal = ProcessSignal(rawValue: Int32(number)) { onSignal?(signal) }
        }
    }

    override func loopEnds() { source?.close() }
}
