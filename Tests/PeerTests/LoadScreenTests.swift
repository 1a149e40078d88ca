// `ringwright load` on a terminal: what is drawn, what keys do, and that the terminal is as before at the end, however it ends.

import Basics
import CallEngine
import Foundation
import TestKit
import Testing

@Suite(
    "load on a terminal", .serialized, .enabled(if: PeerProgram.path(of: "python3") != nil, "python3 is not installed"))
struct LoadScreenTests {
    struct Screen: Decodable {
        var output: String
        var status: Int32
        /// Steps that were never reached.
        var left: Int
        /// nil: the terminal is gone with its program.
        var restored: Bool?
    }

    static let enter = "\u{1B}[?1049h"
    static let leave = "\u{1B}[?25h\u{1B}[?1049l"

    /// Runs a load of ten calls a second on a terminal, against an engine that answers.
    static func run(
        _ steps: String, hold: String = "1s", to address: String? = nil, environment: [String: String] = [:]
    ) throws -> Screen {
        let target = try EngineUnderTest { call, _ in
            try await call.answer()
            try await call.stay(.seconds(60))
        }
        defer { target.close() }
        let folder = try TemporaryFolder()
        let python = try #require(PeerProgram.path(of: "python3"))
        let script = Files.root.appendingPathComponent("Tests/PeerTests/Scenarios/terminal.py").path
        let program = try PeerProgram(
            path: python,
            [
                script, steps, PeerProgram.ringwright, "load", address ?? target.uri("load", .udp), "--rate", "10", "--duration",
                "60s", "--hold", hold,
                "--loops", "1",
                "--set", "rtp.ports=\(LoadPeerTests.ports())"
            ], in: folder, environment: ["TERM": "xterm", "LANG": "C.UTF-8"].merging(environment) { $1 })
        #expect(program.wait(.seconds(70)) == 0)
        let line = try #require(program.output.split(separator: "\n").last { $0.hasPrefix("{") }, "\(program.output)")
        return try JSONDecoder().decode(Screen.self, from: Data(line.utf8))
    }

    /// The other screen came and went, and the result is below on the first one.
    static func expectGivenBack(_ screen: Screen, _ place: SourceLocation = #_sourceLocation) {
        #expect(screen.left == 0, "\(screen.output)", sourceLocation: place)
        #expect(screen.restored != false, sourceLocation: place)
        #expect(screen.output.components(separatedBy: enter).count == 2, sourceLocation: place)
        #expect(screen.output.components(separatedBy: leave).count == 2, sourceLocation: place)
    }

    @Test func keysChangeTheRunAndQuitEndsIt() throws {
        let screen = try Self.run(
            """
            [{"await": "10.0 wanted", "keys": "+"}, {"await": "11.0 wanted", "keys": "--"}, {"await": "9.1 wanted", "keys": "p"},
             {"await": "paused", "keys": "p"}, {"await": "running", "keys": "d"}, {"await": "draining"}, {"await": "placed"}]
            """, environment: ["NO_COLOR": ""])
        Self.expectGivenBack(screen)
        #expect(screen.status != 0, "it was cut short")
        #expect(screen.output.contains("\u{1B}[1m"))
        let after = try #require(screen.output.range(of: Self.leave).map { screen.output[$0.upperBound...] })
        #expect(after.contains("placed") || after.contains("calls"), "\(after)")
    }

    @Test func quitEndsCallsThatRun() throws {
        let screen = try Self.run(
            #"[{"await": " active", "keys": "q"}, {"await": "ending"}]"#, hold: "50s")
        Self.expectGivenBack(screen)
        #expect(screen.status != 0)
    }

    /// A load that stands still measures itself, and would leave its screen on the terminal.
    @Test func itIsNotSuspended() throws {
        let screen = try Self.run(
            #"[{"await": " active", "signal": \#(SIGTSTP)}, {"await": " active", "keys": "\u001a"}, {"await": " active", "keys": "q"}, {"await": "ending"}]"#,
            hold: "50s")
        Self.expectGivenBack(screen)
        #expect(screen.status > 0)
    }

    @Test func anotherSizeIsDrawnAtOnce() throws {
        let screen = try Self.run(
            #"[{"await": " active", "size": [8, 30]}, {"await": "\u001b[K+ - p d q", "keys": "q"}]"#,
            environment: ["NO_COLOR": "1"])
        Self.expectGivenBack(screen)
        #expect(!screen.output.contains("\u{1B}[1m") && !screen.output.contains("\u{1B}[2m"))
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT]) func aSignalGivesTheTerminalBack(_ number: Int32) throws {
        let isOrderly = number != SIGQUIT
        let steps =
            isOrderly
            ? #"[{"await": " active", "signal": \#(number)}, {"await": "draining"}]"#
            : #"[{"await": " active", "signal": \#(number)}]"#
        // Of a process that is gone calls would be left.
        let screen = try Self.run(steps, to: isOrderly ? nil : "sip:load@127.0.0.1:9")
        Self.expectGivenBack(screen)
        #expect(isOrderly ? screen.status > 0 : screen.status == -number)
    }

    /// A terminal that can't: lines, as for a pipe that somebody watches. Who quits waits for nobody.
    @Test(arguments: [("d", "1s"), ("q", "50s")]) func aDumbTerminalGetsLines(key: String, hold: String) throws {
        let screen = try Self.run(#"[{"await": " active", "keys": "\#(key)"}]"#, hold: hold, environment: ["TERM": "dumb"])
        #expect(screen.left == 0 && !screen.output.contains("\u{1B}["))
        #expect(screen.output.contains("waiting for those that run") == (key == "d"), "\(screen.output)")
    }
}
