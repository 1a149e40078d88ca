// `ringwright sipp`: SIPp's own command line, and its exit codes. Ctrl-C and SIGUSR1 begin no more calls, a second one ends those that
// run; on a terminal SIPp's keys change the rate.

import Foundation
import Reactor
import SIPpRunner

func runSipp(_ words: [String]) -> Int32 {
    ProcessSignal.ignoreBrokenPipes()
    // It makes SIPp write its screens down; it does not end it.
    ProcessSignal.ignore(.user2)
    if words.contains("-bg") { return goToBackground(words.filter { $0 != "-bg" }) }
    let control = ScenarioProgram.Control()
    let signals = try? InterruptSignal([.user1]) { control.quit() }
    defer { signals?.stop() }
    let keyboard = words.contains("-nostdin") ? nil : Keyboard { control.press($0) }
    defer { keyboard?.stop() }
    let outcome = ScenarioProgram.run(words, control: control) { Terminal.progress($0) }
    Terminal.print(outcome.output)
    if !outcome.note.isEmpty { Terminal.complain(outcome.note) }
    return outcome.status
}

/// Starts the same command as a process of its own, without a terminal, and ends as SIPp does.
private func goToBackground(_ words: [String]) -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["sipp", "-nostdin"] + words
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    do {
        try process.run()
    } catch {
        Terminal.complain("the background process cannot be started: \(error.localizedDescription)")
        return 255
    }
    Terminal.print("Background mode - PID=[\(process.processIdentifier)]\n")
    return 99
}
