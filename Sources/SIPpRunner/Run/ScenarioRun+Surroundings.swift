// The run as its calls see it.

package import Basics
package import Dialer
import Foundation
import Reactor
package import SIP

extension ScenarioRun: CallSurroundings {
    package var now: Instant { loop.now }
    package var clockTick: Int { Int((loop.now - beganAt).nanoseconds / 1_000_000) }
    package var wallClock: Double { loop.wallClock }
    package var users: Int { options.users ?? -1 }

    package func chance() -> Double { Double(random.next() >> 11) * 0x1p-53 }
    package func draw(_ distribution: HoldTime) -> Double { distribution.value(&random) }

    package func send(_ octets: UnsafeRawBufferPointer, of call: ScenarioCall) -> SendOutcome {
        let outcome = channels.send(octets, of: call)
        guard outcome == .sent else { return outcome }
        files.traceSent(octets, transport: options.transport, at: loop.wallClock)
        if media.isNeeded { media.said(octets, of: call) }
        return outcome
    }

    package func sendCommand(_ octets: [UInt8], to destination: String?, of call: ScenarioCall) -> Bool {
        twins?.send(octets, to: destination) ?? false
    }

    package func schedule(_ call: ScenarioCall) { wakes.note(call) }

    package func ended(_ call: ScenarioCall) {
        let key = OctetHash.of(call.id)
        calls[key] = nil
        dead.insert(key, at: loop.now)
        media.release(call)
        channels.release(call)
        if call.userID > 0 { freeUsers.append(call.userID) }
        if !call.didSucceed, let history = call.history {
            files.write(
                .callDebug, "Call-ID \(String(decoding: call.id, as: UTF8.self)):\n\(history.joined(separator: "\n"))\n\n")
        }
        if !call.didSucceed { twins?.abort(call) }
        guard isQuitting || options.users != nil || statistics.created >= options.most ?? .max else { return }
        // After what is being done for the call.
        loop.schedule(at: loop.now) { [self] in
            guard !isOver else { return }
            if options.users != nil, !isQuitting, scenario.role == .client, !scenario.beginsWithCommand { openDue() }
            checkEnd()
        }
    }

    package func constant(_ name: Template.Constant) -> String { constants[name] }
    package func localPort(of call: ScenarioCall) -> Int { channels.localPort(of: call) }

    package func mediaPort(of call: ScenarioCall, isAutomatic: Bool) -> Int {
        isAutomatic ? options.mediaPort + (4 * (call.number - 1)) % 10_000 : options.mediaPort
    }

    package func streamPort(of call: ScenarioCall, isVideo: Bool) -> Int { media.streamPort(of: call, isVideo: isVideo) }

    package func field(_ number: Int, file: String, line: String, of call: ScenarioCall) -> [UInt8] {
        guard
            let place = file.isEmpty
                ? (injections.isEmpty ? nil : 0)
                : injections.firstIndex(where: { $0.name == file || file.hasSuffix("/\($0.name)") })
        else {
            fatal(
                file.isEmpty
                    ? "[field\(number)] needs a file with lines (-inf)" : "there is no injection file \(file); give it by -inf")
            return []
        }
        guard !line.isEmpty else {
            return injections[place].field(number, line: call.lines.indices.contains(place) ? call.lines[place] : 0)
        }
        return injections[place].field(number, line: Decimal6.number(Array(line.utf8)).map { Int(bounded: $0) } ?? -1)
    }

    package func contents(of file: String) -> [UInt8] {
        if let known = fileContents[file] { return known }
        guard let data = FileManager.default.contents(atPath: file) else {
            fatal("[file name=\(file)]: it cannot be read")
            return []
        }
        fileContents[file] = Array(data)
        return Array(data)
    }

    package func file(_ name: String) -> InjectionFile? {
        injections.first { $0.name == name || name.hasSuffix("/\($0.name)") }
    }

    package func defaultMessage(_ message: DefaultMessage) -> Template {
        defaults[message] ?? EmbeddedScenarios.standard(message)
    }

    package func log(_ text: [UInt8]) { files.write(.logs, String(decoding: text, as: UTF8.self) + "\n") }

    package func warn(_ text: String) {
        statistics.count(\.warnings)
        files.write(.errors, "\(DateText.stamp(loop.wallClock, rfc3339: settings.rfc3339)): \(text)\n")
    }

    package func responded(_ timer: Int, after time: Duration, of call: ScenarioCall) {
        call.statistics.responded(timer, after: time)
        guard call.statistics === statistics else { return }
        files.responded(scenario.timers[timer], after: time, at: loop.now - beganAt)
    }

    package func fatal(_ text: String) {
        guard fatalMessage == nil else { return }
        statistics.count(\.fatalErrors)
        fatalMessage = text
        files.write(.errors, "\(DateText.stamp(loop.wallClock, rfc3339: settings.rfc3339)): \(text)\n")
        forcedStatus = ExitCode.fatal
        finish()
    }

    package func stop(gracefully: Bool) {
        if gracefully { return quit() }
        forcedStatus = ExitCode.stopped
        finish()
    }

    package func execute(_ command: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        do { try process.run() } catch { warn("exec command=\"\(command)\": \(error.localizedDescription)") }
    }

    package func play(_ action: Action.Media, text: String, of call: ScenarioCall) { media.play(action, text, of: call) }
    package func described(_ message: Message, call: ScenarioCall) {
        if media.isNeeded { media.heard(message, of: call) }
    }

    /// A file that a scenario names: beside the scenario, else from where the program runs.
    func path(of name: String) -> String {
        guard !name.hasPrefix("/"), let slash = scenario.file.lastIndex(of: "/") else { return name }
        let beside = String(scenario.file[...slash]) + name
        return FileManager.default.fileExists(atPath: beside) ? beside : name
    }

    package func echo(_ isOn: Bool) { media.isEchoing = isOn }

    package func setDestination(host: String, port: String, transport: String, of call: ScenarioCall) -> Bool {
        guard transport.uppercased() == options.transport.name else {
            fatal("setdest: the protocol is \(options.transport.name) and cannot become \(transport)")
            return true
        }
        guard let number = UInt16(port), let ip = HostAddress.look(host) else {
            warn("setdest: there is no address \(host):\(port)")
            return false
        }
        return channels.setDestination(SocketAddress(ip: ip, port: number), of: call)
    }

    package func closeConnection(of call: ScenarioCall) { channels.closeConnection(of: call) }
}
