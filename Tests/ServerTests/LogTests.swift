// The log: what its lines look like, and that a slow reader never holds a call.

import Foundation
import Reactor
import Server
import Testing

@Suite struct LogTests {
    static let line = LogLine(
        .info, "call began", fields: [("call", "3f9c"), ("from", "Anna \"A\" <sip:a@b>"), ("empty", "")], at: 1_767_323_045.678)

    @Test func text() {
        #expect(
            Self.line.text(.text)
                == #"2026-01-02T03:04:05.678Z info    call began call=3f9c from="Anna \"A\" <sip:a@b>" empty="""#)
    }

    @Test func json() {
        #expect(
            Self.line.text(.json)
                == #"{"time":"2026-01-02T03:04:05.678Z","level":"info","message":"call began","call":"3f9c","from":"Anna \"A\" <sip:a@b>","empty":""}"#
        )
    }

    @Test func whatACallerSentStaysInItsLine() {
        let text = LogLine(.warning, "odd\r\n\u{1B}[31mname", fields: [("from", "a\nb")], at: 0).text(.text)
        #expect(text == #"1970-01-01T00:00:00.000Z warning odd\u{d}\u{a}\u{1b}[31mname from="a\nb""#)
    }

    @Test func levelsAndTheFullQueue() {
        let loop = VirtualLoop()
        let written = Locked([String]())
        var settings = Configuration().log
        settings.level = .warning
        let log = Log(settings, on: loop, capacity: 2) { text in written.withLock { $0.append(text) } }
        log.add(LogLine(.info, "not this"))
        for number in 1...5 { log.add(LogLine(.error, "line \(number)")) }
        #expect(log.dropped == 3)
        #expect(written.withLock { $0.isEmpty })
        loop.run()
        // In one piece.
        #expect(written.withLock { $0.count } == 1)
        let lines = written.withLock { $0[0] }.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 4 && lines[3].isEmpty)
        #expect(lines[0].contains("3 lines of the log were dropped"))
        #expect(lines[1].hasSuffix("line 1") && lines[2].hasSuffix("line 2"))
        log.add(LogLine(.warning, "again"))
        loop.run()
        #expect(written.withLock { $0.last?.hasSuffix("again\n") } == true)
        #expect(log.dropped == 0)
    }
}

@Suite struct LogThreadTests {
    @Test func theEndWritesWhatWaits() throws {
        let written = Locked([String]())
        let (begins, mayGoOn) = (Outcome<Void>(), Outcome<Void>())
        let thread = try LogThread(Configuration().log) { text in
            // A reader slower than the writer: lines wait when the end comes.
            begins.set(())
            mayGoOn.wait()
            written.withLock { $0 += text.split(separator: "\n").map(String.init) }
        }
        thread.log.add(LogLine(.info, "line 1"))
        begins.wait()
        for number in 2...50 { thread.log.add(LogLine(.info, "line \(number)")) }
        mayGoOn.set(())
        thread.stop()
        #expect(written.withLock { $0.count } == 50)
        #expect(written.withLock { $0.last?.hasSuffix("line 50") } == true)
    }

    @Test func levelAndFormatChangeWhileItRuns() {
        let loop = VirtualLoop()
        let written = Locked([String]())
        let log = Log(Configuration().log, on: loop) { line in written.withLock { $0.append(line) } }
        log.add(LogLine(.debug, "no"))
        var settings = Configuration().log
        settings.level = .debug
        settings.format = .json
        log.change(to: settings)
        log.add(LogLine(.debug, "yes"))
        loop.run()
        #expect(written.withLock { $0.count } == 1)
        #expect(written.withLock { $0.first?.hasPrefix("{") } == true)
    }
}
