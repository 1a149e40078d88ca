import Basics
import CLinux
import Glibc

/// Why a program gave nothing.
package enum ProgramFailure: Error, Equatable, Sendable {
    /// It is not there, may not be run, or the system has no room for it.
    case start(SystemError)
    /// It took too long and was ended.
    case time
    /// It wrote more than it may, and was ended.
    case output
    /// It ended with this status; `said`: the first line of what it wrote to its standard error.
    case status(Int32, said: String)
    /// A signal ended it.
    case signal(Int32, said: String)
    /// Whoever wanted it does so no more; it was ended.
    case stopped
}

/// Runs programs to their ends. It blocks: for workers.
///
/// Each is a process group of its own, so that nothing of it is left; it gets our environment, no descriptor of ours, and no signal
/// blocked. No shell reads its words. When our process is killed, so is the program.
package final class ProgramRuns: Sendable {
    /// Readable from `stop` on.
    private let stopping: Int32

    package init() throws(SystemError) {
        stopping = Int32(try SystemCall.check("eventfd") { Int(eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))) })
    }

    deinit { SystemCall.close(stopping) }

    /// Ends what runs; what is asked for afterwards fails at once.
    package func stop() { eventfd_write(stopping, 1) }

    /// Runs a program.
    /// - Parameters:
    ///   - words: its name, looked up as a shell does, and its arguments. None holds a NUL.
    ///   - input: its standard input.
    ///   - time: how long it may take.
    ///   - most: octets that it may write to its standard output.
    /// - Returns: what it wrote there.
    package func run(_ words: [String], input: [UInt8], time: Duration, most: Int) throws(ProgramFailure) -> [UInt8] {
        precondition(!words.isEmpty, "a program has a name")
        var run = Running()
        defer { run.close() }
        do throws(SystemError) {
            try run.start(words, input)
        } catch {
            throw .start(error)
        }
        let end = SystemCall.monotonicNanoseconds() + time.nanoseconds
        while true {
            let left = (end - SystemCall.monotonicNanoseconds() + 999_999) / 1_000_000
            guard left > 0 else { throw run.kill(.time) }
            var watched = [
                pollfd(fd: run.output, events: Int16(POLLIN), revents: 0),
                pollfd(fd: run.errors, events: Int16(POLLIN), revents: 0),
                pollfd(fd: run.process, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stopping, events: Int16(POLLIN), revents: 0)
            ]
            poll(&watched, 4, Int32(clamping: left))
            if watched[3].revents != 0 { throw run.kill(.stopped) }
            run.gather()
            guard run.written.count <= most else { throw run.kill(.output) }
            if watched[2].revents != 0 { break }
        }
        // What it wrote last may have come with its end.
        run.gather()
        guard run.written.count <= most else { throw run.kill(.output) }
        if let failure = run.reap() { throw failure }
        return run.written
    }
}

/// One program at work.
private struct Running {
    /// Our ends; -1 when they are closed.
    private(set) var output: Int32 = -1
    private(set) var errors: Int32 = -1
    /// Readable when it has ended.
    private(set) var process: Int32 = -1
    private(set) var written: [UInt8] = []
    private var said: [UInt8] = []
    private var pid: pid_t = 0
    private static let mostSaid = 4096

    mutating func start(_ words: [String], _ input: [UInt8]) throws(SystemError) {
        let text = Int32(try SystemCall.check("memfd_create") { Int(rw_memory_file("input")) })
        defer { SystemCall.close(text) }
        var done = 0
        while done < input.count {
            done += Int(
                try SystemCall.check("write") {
                    input.withUnsafeBytes { Glibc.write(text, $0.baseAddress! + done, $0.count - done) }
                })
        }
        lseek(text, 0, SEEK_SET)
        let out = try Self.pipe()
        defer { SystemCall.close(out.write) }
        output = out.read
        let err = try Self.pipe()
        defer { SystemCall.close(err.write) }
        errors = err.read
        var pointers = words.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        pointers.append(nil)
        let number = rw_spawn(&pid, pointers, text, out.write, err.write)
        guard number == 0 else { throw SystemError(number, "run \(words[0])") }
        process = rw_process_descriptor(pid)
        guard process >= 0 else {
            let number = errno
            _ = kill(.stopped)
            throw SystemError(number, "pidfd_open")
        }
    }

    private static func pipe() throws(SystemError) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        try SystemCall.check("pipe") { Int(rw_pipe(&ends)) }
        // The program's end waits, as programs expect.
        _ = fcntl(ends[1], F_SETFL, 0)
        return (ends[0], ends[1])
    }

    /// Reads what is there.
    mutating func gather() {
        Self.read(&output) { written.append(contentsOf: $0) }
        Self.read(&errors) { octets in
            if said.count < Self.mostSaid { said.append(contentsOf: octets.prefix(Self.mostSaid - said.count)) }
        }
    }

    private static func read(_ descriptor: inout Int32, _ take: (UnsafeRawBufferPointer) -> Void) {
        guard descriptor >= 0 else { return }
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
            // As much as a pipe holds: what writes without end leaves the reader to look at the time.
            for _ in 0..<4 {
                let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                if count > 0 {
                    take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                } else if count == 0 {
                    SystemCall.close(descriptor)
                    descriptor = -1
                    return
                } else if errno != EINTR {
                    return
                }
            }
        }
    }

    /// Ends it, and what it started.
    mutating func kill(_ failure: ProgramFailure) -> ProgramFailure {
        guard pid > 0 else { return failure }
        _ = Glibc.kill(-pid, SIGKILL)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        pid = 0
        return failure
    }

    /// After its end: what was wrong with it; nil: nothing.
    mutating func reap() -> ProgramFailure? {
        // Before its number is free for others.
        _ = Glibc.kill(-pid, SIGKILL)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        pid = 0
        let line =
            String(decoding: said, as: UTF8.self).split(whereSeparator: \.isNewline).first.map { String($0.prefix(200)) } ?? ""
        if status & 0x7F != 0 { return .signal(status & 0x7F, said: line) }
        let code = (status >> 8) & 0xFF
        return code == 0 ? nil : .status(code, said: line)
    }

    mutating func close() {
        precondition(pid == 0, "a program that was started has ended")
        for descriptor in [output, errors, process] where descriptor >= 0 { SystemCall.close(descriptor) }
    }
}
