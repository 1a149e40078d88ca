// Whether the registrars of lines take their credentials, and whether watched trunks answer: asked now, from a port of its own, without
// registering anything.

import Basics
import CallEngine
import Reactor

enum LineExamination {
    /// How long registrars and trunks may take.
    private static let patience = Duration.seconds(6)

    static func findings(_ configuration: Configuration) -> [DoctorFinding] {
        let lines = configuration.lines.filter { $0.registration != nil || $0.monitor != nil }
        guard !lines.isEmpty else { return [] }
        do throws(CommandFailure) {
            return try ask(lines, configuration)
        } catch {
            return [DoctorFinding(.problem, "lines", "they cannot be asked: \(error.message)", mend: error.mend)]
        }
    }

    private static func ask(_ lines: [LineSettings], _ configuration: Configuration) throws(CommandFailure) -> [DoctorFinding] {
        var settings = configuration.engineSettings
        settings.listeners = CallingEngine.anywhere
        settings.registrar = nil
        settings.lines = lines.map { line in
            var line = line
            line.registration?.isQuery = true
            return line
        }
        let heard = Outcome<Void>()
        let silent = Locked(Set(lines.map(\.name)))
        let calling = try CallingEngine(
            configuration, settings,
            onLine: { event in
                let isLast = silent.withLock { silent in
                    silent.remove(event.line)
                    return silent.isEmpty
                }
                if isLast { heard.set(()) }
            })
        defer { calling.close() }
        calling.engine.startLines()
        _ = heard.wait(within: patience)
        return calling.engine.lines.statuses.map(finding)
    }

    private static func finding(_ status: LineStatus) -> DoctorFinding {
        switch status.state {
        case .registered, .ended: DoctorFinding(.well, "lines", "\(status.name): the registrar takes the user name and password")
        case .available: DoctorFinding(.well, "lines", "\(status.name): the trunk answers")
        case .starting:
            DoctorFinding(
                .problem, "lines", "\(status.name): no answer within \(patience.components.seconds) s",
                mend: "look at the server's address, its transport, and firewalls on the way")
        case .failed, .unavailable:
            DoctorFinding(
                .problem, "lines", "\(status.name): \(status.detail)",
                mend: "look at the line's server, username and password")
        }
    }
}
