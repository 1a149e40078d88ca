// Programs that are run to their ends: what they say, how they end, and that nothing of them is left.

import CLinux
import Foundation
import Reactor
import TestKit
import Testing

@Suite struct ProgramRunTests {
    private func run(
        _ words: String..., input: String = "", time: Duration = .seconds(60), most: Int = 1 << 20
    ) throws(ProgramFailure) -> String {
        let runs: ProgramRuns
        do { runs = try ProgramRuns() } catch { throw .start(error) }
        return String(decoding: try runs.run(words, input: Array(input.utf8), time: time, most: most), as: UTF8.self)
    }

    @Test func itGetsItsInputAndGivesItsOutput() throws {
        #expect(try run("cat", input: "words") == "words")
        #expect(try run("cat") == "")
        // No shell: words are words. No descriptor but its three.
        #expect(try run("printf", "%s|", "a b", "$HOME", "*") == "a b|$HOME|*|")
        #expect(try run("sh", "-c", "ls /proc/self/fd | tr '\\n' ' '") == "0 1 2 3 ")
        let large = String(repeating: "0123456789", count: 50_000)
        #expect(try run("cat", input: large) == large)
        // It need not read.
        #expect(try run("true", input: large) == "")
    }

    @Test func itsSignalsAreAsUsual() throws {
        let said = try run("grep", "-E", "SigBlk|SigIgn", "/proc/self/status")
        let masks = said.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0, radix: 16) }
        // The C library keeps two real-time signals for itself.
        #expect(masks.count == 2 && masks.allSatisfy { $0 & 0x7FFF_FFFF == 0 }, "\(said)")
    }

    @Test func waysToFail() {
        #expect(throws: ProgramFailure.start(SystemError(ENOENT, "run no-such-program"))) { try run("no-such-program") }
        #expect(throws: ProgramFailure.start(SystemError(EACCES, "run /etc"))) { try run("/etc") }
        #expect(throws: ProgramFailure.status(3, said: "bad voice")) {
            try run("sh", "-c", "echo out; echo bad voice >&2; echo more >&2; exit 3")
        }
        #expect(throws: ProgramFailure.signal(SIGSEGV, said: "")) { try run("sh", "-c", "kill -SEGV $$") }
        #expect(throws: ProgramFailure.output) { try run("yes", most: 100_000) }
        // What says much to its errors is no reason to wait.
        #expect(throws: ProgramFailure.status(1, said: String(repeating: "x", count: 200))) {
            try run("sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x >&2; exit 1")
        }
    }

    @Test func whatTakesTooLongIsEnded() {
        #expect(throws: ProgramFailure.time) { try run("sleep", "600", time: .milliseconds(200)) }
        #expect(throws: ProgramFailure.time) { try run("sh", "-c", "exec >&- 2>&-; exec sleep 600", time: .milliseconds(200)) }
    }

    @Test func itsChildrenEndWithIt() throws {
        let folder = try TemporaryFolder()
        let fifo = folder.path("alive")
        try #require(mkfifo(fifo, 0o600) == 0)
        let reader = open(fifo, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        // The child holds the pipe as long as it lives.
        #expect(throws: ProgramFailure.output) { try run("sh", "-c", "exec 3>\"$0\"; sleep 600 & exec yes", fifo, most: 1000) }
        var watched = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
        #expect(poll(&watched, 1, 60_000) == 1 && watched.revents & Int16(POLLHUP) != 0)
    }

    @Test func aChildThatIsLeftHoldsNothingUp() throws {
        // The child keeps the output open after the program's end.
        #expect(try run("sh", "-c", "echo done; sleep 600 &") == "done\n")
    }

    /// As when our process is killed: what a thread has started ends with it.
    @Test func itEndsWithTheThreadThatRunsIt() throws {
        let started = Outcome<Int32>()
        let streams = open("/dev/null", O_RDWR)
        defer { close(streams) }
        Thread.detachNewThread {
            var process: Int32 = 0
            let words = [strdup("sleep"), strdup("60"), nil]
            defer { for word in words { free(word) } }
            started.set(rw_spawn(&process, words, streams, streams, streams) == 0 ? process : -1)
        }
        let process = try #require(started.wait(within: .seconds(60)))
        var status: Int32 = 0
        try #require(process > 0 && waitpid(process, &status, 0) == process)
        #expect(status & 0x7F == SIGKILL)
    }

    @Test func stoppingEndsWhatRunsAndWhatComes() async throws {
        let folder = try TemporaryFolder()
        let runs = try ProgramRuns()
        let ended = Outcome<ProgramFailure?>()
        let marker = folder.path("begun")
        Thread.detachNewThread {
            do throws(ProgramFailure) {
                _ = try runs.run(["sh", "-c", "echo > \"$0\"; exec sleep 600", marker], input: [], time: .seconds(600), most: 100)
                ended.set(nil)
            } catch {
                ended.set(error)
            }
        }
        runs.stop()
        #expect(ended.wait(within: .seconds(60)) == .some(.stopped))
        #expect(throws: ProgramFailure.stopped) { try runs.run(["sleep", "600"], input: [], time: .seconds(600), most: 100) }
    }
}
