// The full screen of a load run: what is on it, and that it fits every terminal.

import Basics
import CallEngine
import Dialer
import Reactor
import Server
import Testing

@Suite struct LoadScreenTests {
    static func progress(seconds: Int = 40, failed: Bool = true, spoiled: Bool = false) -> LoadProgress {
        var statistics = LoadStatistics()
        for second in 0..<seconds {
            for _ in 0..<(second % 7 + 3) { statistics.started(at: .zero + .seconds(second), since: .zero, active: second) }
        }
        statistics.answered = 250
        for value in [900, 2_000, 41_000] { statistics.answer.record(Int64(value)) }
        (statistics.sent, statistics.received, statistics.lost) = (1000, 990, 10)
        statistics.jitter.record(1200)
        statistics.score.record(438)
        if failed { (statistics.failed, statistics.byStatus, statistics.byCause) = (12, [503: 10], ["no-answer": 2]) }
        var health = GeneratorHealth()
        health.cpu = 8
        if spoiled { health.portRefusals = 3 }
        return LoadProgress(elapsed: .seconds(seconds), statistics: statistics, active: 42, rate: 9, health: health)
    }

    static func screen(_ progress: LoadProgress = progress()) -> LoadScreen {
        let screen = LoadScreen(title: "sip:100@192.0.2.1")
        var plan = LoadPlan(
            request: CallRequest(target: "sip:100@192.0.2.1"), source: .arrivals(.rate(.constant(10), poisson: false)))
        plan.calls = 600
        screen.begin(plan)
        screen.show(progress)
        return screen
    }

    static func style(_ columns: Int, _ rows: Int, color: Bool = false, unicode: Bool = true) -> ScreenStyle {
        ScreenStyle(columns: columns, rows: rows, hasColor: color, isUnicode: unicode)
    }

    /// The lines as a person sees them.
    static func lines(_ frame: String) -> [String] {
        #expect(frame.hasPrefix("\u{1B}[H"))
        let rest = "\r\n\u{1B}[J"
        let text = frame.dropFirst(3).dropLast(frame.hasSuffix(rest) ? rest.count : 0).replacing(/\u{1B}\[[0-9;]*m/, with: "")
        return text.split(separator: "\r\n", omittingEmptySubsequences: false).map {
            // Behind a full line a terminal would erase its last character.
            #expect($0.hasPrefix("\u{1B}[K") && !$0.dropFirst(3).contains("\u{1B}"))
            return String($0.dropFirst(3))
        }
    }

    @Test func everythingIsOnIt() {
        let lines = Self.lines(Self.screen().frame(Self.style(80, 24)))
        #expect(lines.first == "load sip:100@192.0.2.1" + String(repeating: " ", count: 42) + "0:00:40  running")
        let text = lines.joined(separator: "\n")
        for words in [
            "9 now  10.0 wanted", "42 active", "of 600", "250 answered", "failed    12", "503: 10  no-answer: 2", "p99.9",
            "answer          2.0", "lost 1.0%", "MOS p50 4.38", "this side well", "cpu 20", "calls/s   ", "▁", "█",
            "+ faster  - slower  p pause  d drain  q quit"
        ] {
            #expect(text.contains(words), "\(words)\n\(text)")
        }
        #expect(Self.lines(Self.screen(Self.progress(failed: false)).frame(Self.style(80, 24))).contains("failed    none"))
        let spoiled = Self.screen(Self.progress(spoiled: true)).frame(Self.style(80, 24))
        #expect(spoiled.contains("short of ports") && spoiled.contains("widen rtp.ports"))
    }

    /// No line is wider than the terminal, none too many, and what matters most stays.
    @Test(arguments: [1, 2, 7, 12, 24, 200], [1, 5, 20, 40, 80, 300]) func itFits(rows: Int, columns: Int) {
        for (color, unicode) in [(true, true), (false, false)] {
            let frame = Self.screen().frame(Self.style(columns, rows, color: color, unicode: unicode))
            let lines = Self.lines(frame)
            #expect(lines.count <= rows && lines.allSatisfy { $0.count <= columns }, "\(lines)")
            #expect(frame.hasSuffix("\u{1B}[J") == (lines.count < rows), "what was below goes, and nothing scrolls")
            #expect(lines[0].hasPrefix(String("load sip".prefix(columns))) || columns < 40)
            if rows >= 12, columns >= 20 { #expect(lines.contains { $0.hasPrefix("failed ") }) }
        }
    }

    @Test func coloursAndBlocksOnlyWhereTheyAreWanted() {
        let plain = Self.screen().frame(Self.style(100, 30, color: false, unicode: false))
        #expect(!plain.contains(/\u{1B}\[[0-9;]*m/))
        #expect(plain.utf8.allSatisfy { $0 < 0x80 })
        let rich = Self.screen().frame(Self.style(100, 30, color: true))
        #expect(rich.contains("\u{1B}[1;31m12 ("))
    }

    @Test func keysAreSeen() {
        let screen = Self.screen()
        let count = Locked(0)
        screen.onChange { count.withLock { $0 += 1 } }
        screen.scale(by: 1.1)
        #expect(screen.frame(Self.style(80, 24)).contains("11.0 wanted"))
        screen.pause()
        #expect(screen.frame(Self.style(80, 24)).contains("paused") && screen.frame(Self.style(80, 24)).contains("p go on"))
        #expect(screen.frame(Self.style(80, 24)).contains("0.0 wanted"))
        screen.pause()
        screen.note("metrics on http://127.0.0.1:9100/metrics")
        #expect(screen.frame(Self.style(80, 24)).contains("metrics on "))
        screen.set(.draining)
        #expect(screen.frame(Self.style(80, 24)).contains("d end now"))
        #expect(count.withLock { $0 } == 5)
        screen.onChange(nil)
        screen.note("x")
        #expect(count.withLock { $0 } == 5)
    }
}
