// A whole run as a program: command line in, exit status out.

import Basics
import Foundation
import Glibc
package import Reactor

/// `ringwright sipp`.
package struct ScenarioProgram: Sendable {
    /// What a program printed and how it ended.
    package struct Outcome: Sendable {
        package var status: Int32
        /// For standard output.
        package var output = ""
        /// For standard error.
        package var note = ""
    }

    /// A hand on a run under way: from any thread.
    package final class Control: Sendable {
        private let run = Locked<LoopBound<ScenarioRun>?>(nil)

        package init() {}

        fileprivate func hold(_ bound: LoopBound<ScenarioRun>?) { run.withLock { $0 = bound } }

        /// SIPp's keys: + - * / change the rate, q ends.
        package func press(_ key: Character) { run.withLock { $0 }?.run { $0.press(key) } }
        /// SIGUSR1, and the first Ctrl-C: no more calls.
        package func quit() { run.withLock { $0 }?.run { $0.isQuitting ? $0.quitAtOnce() : $0.quit() } }
    }

    /// Runs it and waits for its end. Not on a loop.
    /// - Parameters:
    ///   - opened: its sockets are open: from now on it can be called. Once at most; on its loop.
    ///   - progress: lines for whoever watches.
    package static func run(
        _ words: [String], control: Control = Control(), opened: @escaping @Sendable () -> Void = {},
        progress: @escaping @Sendable (String) -> Void
    ) -> Outcome {
        do throws(OptionError) {
            let options = try OptionReader.read(words)
            return run(options, control, opened, progress)
        } catch {
            return Outcome(status: ExitCode.other, note: error.message)
        }
    }

    private static func run(
        _ options: Options, _ control: Control, _ opened: @escaping @Sendable () -> Void,
        _ progress: @escaping @Sendable (String) -> Void
    ) -> Outcome {
        if options.wantsHelp { return Outcome(status: ExitCode.other, output: OptionReader.help) }
        if options.wantsVersion {
            return Outcome(status: ExitCode.other, output: "ringwright sipp, for scenarios of SIPp \(RunConstants.version)\n")
        }
        if let name = options.dumpName {
            guard let text = EmbeddedScenarios.text(name) else {
                return Outcome(
                    status: ExitCode.fatal, note: "there is no embedded scenario \(name); there are \(EmbeddedScenarios.names)")
            }
            return Outcome(status: ExitCode.other, output: text)
        }
        _ = try? DescriptorLimit.raise()
        let loop: EpollLoop
        let workers: WorkerPool
        do throws(SystemError) {
            loop = try EpollLoop(name: "sipp")
            workers = try WorkerPool(name: "sipp-files", threads: 1, limit: 1024)
            try loop.start()
        } catch {
            return Outcome(status: ExitCode.fatal, note: "\(error)")
        }
        let outcome = drive(options, loop, workers, control, opened, progress)
        control.hold(nil)
        loop.stop()
        workers.stop()
        return outcome
    }

    private static func drive(
        _ options: Options, _ loop: EpollLoop, _ workers: WorkerPool, _ control: Control,
        _ opened: @escaping @Sendable () -> Void, _ progress: @escaping @Sendable (String) -> Void
    ) -> Outcome {
        let ended = Reactor.Outcome<Outcome>()
        do throws(RunFailure) {
            try loop.runAndWait { () throws(RunFailure) in
                let (run, warnings) = try ScenarioRun.make(options, loop: loop, workers: workers, processID: Int(getpid()))
                for warning in warnings { progress("warning: \(warning)") }
                run.onProgress = progress
                run.onOpen = opened
                run.onEnd = { [unowned run] status in
                    let summary = RunSummary(run)
                    var outcome = Outcome(status: status, output: summary.text, note: run.fatalMessage ?? "")
                    if let path = options.json,
                        FileManager.default.createFile(atPath: path, contents: Data(summary.json(status: status).utf8)) == false
                    {
                        outcome.note += "\(path) cannot be written"
                    }
                    ended.set(outcome)
                }
                control.hold(LoopBound(run, on: loop))
                guard options.sleep > 0 else { return try run.start() }
                loop.schedule(after: .milliseconds(bounded: options.sleep)) {
                    do throws(RunFailure) {
                        try run.start()
                    } catch {
                        ended.set(Outcome(status: error.status, note: error.message))
                    }
                }
            }
        } catch {
            return Outcome(status: error.status, note: error.message)
        }
        return ended.wait()
    }
}

extension ScenarioRun {
    /// Makes a run of what a command line says. On its loop.
    package static func make(
        _ options: Options, loop: EventLoop, workers: WorkerPool, processID: Int, seed: UInt64 = .random(in: 0 ... .max)
    ) throws(RunFailure) -> (run: ScenarioRun, warnings: [String]) {
        var warnings: [String] = []
        let scenario = try load(file: options.scenarioFile, name: options.scenarioName ?? "uac", options, &warnings)
        var outOfCall: Scenario?
        if options.outOfCallFile != nil || options.outOfCallName != nil {
            outOfCall = try load(file: options.outOfCallFile, name: options.outOfCallName ?? "", options, &warnings)
        }
        var injections: [InjectionFile] = []
        for path in options.injections {
            let octets = try read(path)
            do throws(ScenarioError) {
                injections.append(try InjectionFile(octets, path: path))
            } catch {
                throw .fatal("\(error)")
            }
        }
        for (file, field) in options.indices {
            guard let found = injections.first(where: { $0.name == file || file.hasSuffix("/\($0.name)") }) else {
                throw .fatal("-infindex: there is no injection file \(file); give it by -inf")
            }
            found.index(by: field)
        }
        let run = ScenarioRun(
            loop: loop, options: options, scenario: scenario, outOfCall: outOfCall, injections: injections,
            addresses: try addresses(options, scenario, loop), processID: processID, workers: workers, seed: seed)
        return (run, warnings)
    }

    private static func read(_ path: String) throws(RunFailure) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else { throw .fatal("\(path) cannot be read: is it there?") }
        return Array(data)
    }

    private static func load(
        file: String?, name: String, _ options: Options, _ warnings: inout [String]
    ) throws(RunFailure) -> Scenario {
        let octets: [UInt8]
        if let file {
            octets = try read(file)
        } else if let text = EmbeddedScenarios.text(name) {
            octets = Array(text.utf8)
        } else {
            throw .fatal("there is no embedded scenario \(name); there are \(EmbeddedScenarios.names)")
        }
        do throws(ScenarioError) {
            let (scenario, found) = try ScenarioReader.read(octets, file: file ?? name, keys: options.keys)
            warnings += found
            return scenario
        } catch {
            throw .fatal("\(error)")
        }
    }

    private static func addresses(_ options: Options, _ scenario: Scenario, _ loop: EventLoop) throws(RunFailure) -> RunAddresses
    {
        func address(_ text: String, _ what: String) throws(RunFailure) -> (SocketAddress, host: String) {
            guard let (host, port) = HostAddress.split(text) else { throw .fatal("\(what): \"\(text)\" is no HOST:PORT") }
            guard let ip = HostAddress.look(host) else { throw .fatal("Unknown remote host '\(host)'") }
            return (SocketAddress(ip: ip, port: port ?? 5060), host)
        }
        var remote: SocketAddress?
        var host = ""
        if let text = options.remote { (remote, host) = try address(text, "remote host") }
        if remote == nil, scenario.role == .client {
            throw .fatal("Missing remote host parameter. This scenario requires it")
        }
        func own(_ text: String, _ option: String) throws(RunFailure) -> IPAddress {
            guard let ip = HostAddress.look(text) else { throw .fatal("\(option): there is no address \(text)") }
            return ip
        }
        let local: IPAddress
        if let text = options.localIP {
            local = try own(text, "-i")
        } else {
            // Any address elsewhere tells by which one of ours the world is reached.
            local = loop.localAddress(toReach: remote?.ip ?? .v4(0xC000_0201)) ?? .loopback4
        }
        let media = try options.mediaIP.map { text throws(RunFailure) in try own(text, "-mi") } ?? local
        var result = RunAddresses(
            local: SocketAddress(ip: local, port: UInt16(clamping: options.localPort ?? 5060)),
            remote: scenario.role == .client || options.remote != nil ? remote : nil, media: media)
        result.remoteHost = host
        result.bindsLocal = options.bindsLocal
        if let text = options.remoteSending { result.sending = try address(text, "-rsa").0 }
        return result
    }

    /// SIPp's keys.
    package func press(_ key: Character) {
        let scale = options.rateScale
        switch key {
        case "+": changeRate(to: opening.rate + scale)
        case "-": changeRate(to: opening.rate - scale)
        case "*": changeRate(to: opening.rate + 10 * scale)
        case "/": changeRate(to: opening.rate - 10 * scale)
        case "q": isQuitting ? quitAtOnce() : quit()
        default: break
        }
    }
}
