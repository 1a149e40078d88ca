// The options of `load`: what they mean, and which do not go together.

import Basics
import CallEngine
import Dialer
import Foundation
import Server
import Testing

@Suite struct LoadOptionsTests {
    static func options(_ words: [String]) throws -> LoadOptions {
        guard case .run(let arguments) = try CommandList.choose(["load", "sip:a@b"] + words) else { throw NoRun() }
        return try LoadOptions(arguments)
    }
    struct NoRun: Error {}

    @Test func ratesAndTheirEnds() throws {
        let constant = try Self.options(["--rate", "2.5", "--duration", "1m"])
        #expect(constant.source == .arrivals(.rate(.constant(2.5), poisson: false)))
        #expect(constant.duration == .seconds(60))
        #expect(constant.hold == .fixed(10_000))
        let ramp = try Self.options(["--ramp", "10..500/30s", "--poisson"])
        #expect(ramp.source == .arrivals(.rate(.ramp(from: 10, to: 500, seconds: 30), poisson: true)))
        #expect(ramp.duration == .seconds(30))
        let held = try Self.options(["--ramp", "10..10/5s", "--duration", "20s"])
        #expect(held.source == .arrivals(.rate(.ramp(from: 10, to: 10, seconds: 5), poisson: false)))
        #expect(held.duration == .seconds(20))
        let steps = try Self.options(["--steps", "50/10s,0/5s,200/1m"])
        #expect(steps.source == .arrivals(.rate(.steps([(50, 10), (0, 5), (200, 60)]), poisson: false)))
        let users = try Self.options(["--users", "20", "--pause", "500ms", "--calls", "100"])
        #expect(users.source == .users(20, pause: .milliseconds(500), rate: 20))
    }

    @Test func theLimitThatIsLookedFor() throws {
        let options = try Self.options([
            "--rate", "10", "--find-limit", "--max-failures", "0.5%", "--max-answer", "800ms", "--min-mos", "3.8", "--max-rate",
            "200"
        ])
        #expect(options.findsLimit && options.maximumRate == 200)
        #expect((options.rules.failures, options.rules.answer, options.rules.score) == (0.005, 800, 3.8))
    }

    @Test func arrivalsFromAFile() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "day.csv").path()
        try "\u{FEFF}caller,time\r\n\"a,b\",110\r\nc,100.5\r\n\r\nd,104\r\n".write(
            toFile: path, atomically: true, encoding: .utf8)
        #expect(try Self.options(["--arrivals", path, "--speed", "2"]).source == .arrivals(.times([0, 1.75, 4.75])))
        try "5\n7\nx\n".write(toFile: path, atomically: true, encoding: .utf8)
        let failure = #expect(throws: CommandFailure.self) { try Self.options(["--arrivals", path]) }
        #expect(failure?.description == "\(path):3: no number of seconds in column 1; write seconds, such as 12.5")
        let missing = #expect(throws: CommandFailure.self) { try Self.options(["--arrivals", path + "x"]) }
        #expect(missing?.description == "\(path)x:1: there is no such file")
    }

    @Test(arguments: [
        ([], "load needs --rate; or --ramp, --steps, --users or --arrivals"),
        (["--rate", "10"], "the run would never end; say --duration 60s or --calls 1000"),
        (["--users", "10"], "the run would never end; say --duration 60s or --calls 1000"),
        (["--rate", "0", "--calls", "1"], "--rate is a number over 0, such as 100 or 0.5, not \"0\""),
        (["--rate", "fast", "--calls", "1"], "--rate is a number over 0, such as 100 or 0.5, not \"fast\""),
        (["--ramp", "10-500", "--calls", "1"], "--ramp is FROM..TO/TIME, such as 10..500/30s, not \"10-500\""),
        (["--ramp", "10..20/5", "--calls", "1"], "--ramp: "),
        (["--steps", "10,20/5s"], "--steps is RATE/TIME,…, such as 50/10s,100/10s, not \"10,20/5s\""),
        (["--steps", "0/5s"], "--steps has no rate over 0"),
        (["--rate", "1", "--ramp", "1..2/3s"], "--ramp and --rate exclude each other; leave --rate out"),
        (["--users", "1", "--ramp", "1..2/3s"], "--ramp and --users exclude each other"),
        (
            ["--users", "4", "--calls", "9", "--concurrency", "2"],
            "--users and --concurrency exclude each other; --users says how many call at a time"
        ),
        (["--rate", "1", "--duration", "0s"], "--duration: the time is zero"),
        (["--rate", "1", "--calls", "1", "--pause", "1s"], "--pause is for --users"),
        (["--rate", "1", "--calls", "1", "--media", "video"], "--media is none, play or echo, not \"video\""),
        (["--rate", "1", "--calls", "1", "--hold", "long"], "--hold: "),
        (
            ["--rate", "1", "--calls", "1", "--flow", "f", "--hold", "1s"],
            "--hold and --flow exclude each other; the flow says what a call does"
        ),
        (["--rate", "1", "--calls", "1", "--max-answer", "1s"], "--max-answer is for --find-limit"),
        (["--ramp", "1..2/3s", "--find-limit"], "--find-limit begins with --rate; write --rate 10 --find-limit"),
        (["--rate", "1", "--calls", "1", "--find-limit"], "--calls and --find-limit exclude each other"),
        (["--rate", "1", "--find-limit", "--max-failures", "0.1"], "--max-failures is a share such as 1% or 0.5%, not \"0.1\""),
        (
            ["--rate", "1", "--calls", "1", "--http", "here"],
            "--http is an address with a port, such as 127.0.0.1:9100, not \"here\""
        ),
        (["--rate", "1", "--calls", "1", "--var", "a=1"], "--var sets a variable of a flow; name it by --flow")
    ])
    func whatIsRefused(_ words: [String], _ message: String) {
        let failure = #expect(throws: CommandFailure.self) { try Self.options(words) }
        #expect(failure?.description.hasPrefix(message) == true, "\(failure?.description ?? "")")
        #expect(failure?.status == .wrong)
    }
}
