// `ringwright doctor`: what would go wrong on this machine with this configuration, and the mend.

package import Basics
package import FlowEngine

/// What one look at the machine found.
package struct DoctorFinding: Equatable, Sendable {
    package enum State: String, Sendable, CaseIterable, Comparable {
        case well
        /// It works, but not for everything.
        case warning
        /// It will not work.
        case problem

        package static func < (left: State, right: State) -> Bool {
            allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
        }
    }

    package var state: State
    /// What was looked at: `ports`, `descriptors`, …
    package var subject: String
    package var message: String
    /// A command or a change; nil when all is well.
    package var mend: String?

    package init(_ state: State, _ subject: String, _ message: String, mend: String? = nil) {
        self.state = state
        self.subject = subject
        self.message = message
        self.mend = mend
    }

    package var json: JSONText {
        .object([
            ("subject", .string(subject)), ("state", .string(state.rawValue)), ("message", .string(message)),
            ("mend", mend.map { .string($0) } ?? .null)
        ])
    }

    /// One line, and one for the mend.
    package var line: String {
        let sign = ["well": "ok      ", "warning": "warning ", "problem": "PROBLEM "][state.rawValue] ?? ""
        return "\(sign) \(subject): \(message)\(mend.map { "\n          -> \($0)" } ?? "")"
    }
}

package enum Doctor {
    /// Looks at everything, in the order in which it would matter to a call.
    /// - Parameter prompts: findings about the flows' prompts, from the flow checker.
    package static func examine(_ configuration: Configuration, prompts: [Diagnostic]) -> [DoctorFinding] {
        ListenerExamination.findings(configuration)
            + MachineExamination.descriptors(for: configuration)
            + MachineExamination.receiveBuffer()
            + MachineExamination.libraries()
            + MachineExamination.clock()
            + CertificateExamination.findings(configuration)
            + CodecExamination.findings()
            + NameExamination.findings(configuration)
            + LineExamination.findings(configuration)
            + MachineExamination.recordings(in: configuration.recordings)
            + MachineExamination.traces(of: configuration)
            + SpeechExamination.findings(configuration.speech)
            + promptFindings(prompts)
    }

    /// What `serve` says before it takes calls. Too few descriptors for a handful of calls end it: it would refuse every caller.
    package static func atStart(_ configuration: Configuration) throws(CommandFailure) -> [DoctorFinding] {
        let descriptors = MachineExamination.descriptors(for: configuration)
        if let problem = descriptors.first(where: { $0.state == .problem }) {
            throw CommandFailure(.unable, "file descriptors: \(problem.message)", mend: problem.mend)
        }
        return
            (descriptors + MachineExamination.recordings(in: configuration.recordings)
            + MachineExamination.traces(of: configuration)).filter { $0.state != .well }
    }

    private static func promptFindings(_ prompts: [Diagnostic]) -> [DoctorFinding] {
        guard !prompts.isEmpty else { return [DoctorFinding(.well, "flows", "no flow has a mistake, all prompts can be played")] }
        return prompts.map {
            DoctorFinding($0.severity == .error ? .problem : .warning, "flows", "\($0.place): \($0.message)", mend: $0.mend)
        }
    }

    /// The exit status: a machine with a problem cannot do it.
    package static func status(of findings: [DoctorFinding]) -> ExitStatus {
        findings.contains { $0.state == .problem } ? .unable : .passed
    }
}
