// What a running server tells about itself on /metrics and /healthz: plain figures, gathered by the composition.

import Basics
package import CallEngine

/// The figures of one moment.
package struct ServerFigures: Sendable {
    package var version: String
    /// Wall clock at the start, seconds since 1970.
    package var startedAt: Double
    package var activeCalls = 0
    package var callLimit = 0
    package var isDraining = false
    /// Calls that began, by direction.
    package var started: [CallInfo.Direction: UInt64] = [:]
    /// Calls that are over, by cause.
    package var ended: [CallEnd.Cause: UInt64] = [:]
    /// Calls refused at the door, by reason.
    package var refused: [Admission.Refusal: UInt64] = [:]
    package var answered: UInt64 = 0
    /// Incoming calls refused with 488 or 400: no media could be agreed on.
    package var unacceptable: UInt64 = 0
    package var signaling = SignalingCounters()
    /// The media of all loops, calls that run included.
    package var media = MediaCounters()
    /// Media packets of calls that are over which never arrived; nil: nobody counts them.
    package var lostPackets: Int64?
    package var trace = TraceCounters()
    /// nil: no prompts can be got.
    package var prompts: PromptFigures?
    package var loops: [Loop] = []
    /// The registered lines.
    package var lines: [LineStatus] = []
    /// nil: nobody can log in here.
    package var registrar: RegistrarFigures?

    package struct Loop: Sendable {
        package var name: String
        /// Seconds of work since the start.
        package var busy: Double
        package var turns: UInt64
        /// Those in which it looked by itself for messages that had gathered.
        package var pacedTurns: UInt64
        /// Seconds that 99 of 100 timers were late at most.
        package var lateTimers: Double
        package var tasks: Int

        package init(name: String, busy: Double, turns: UInt64, pacedTurns: UInt64, lateTimers: Double, tasks: Int) {
            self.name = name
            self.busy = busy
            self.turns = turns
            self.pacedTurns = pacedTurns
            self.lateTimers = lateTimers
            self.tasks = tasks
        }
    }

    package init(version: String, startedAt: Double) {
        self.version = version
        self.startedAt = startedAt
    }

    /// The body of /metrics. Every closed set of labels is there from the start, so that a graph begins with zero and not with nothing.
    package var metrics: String {
        var text = MetricsText()
        text.add("ringwright_info", .gauge, "The version that runs.", [([("version", version)], 1)])
        text.add("ringwright_start_time_seconds", .gauge, "When it started, seconds since 1970.", startedAt)
        text.add("ringwright_calls_active", .gauge, "Calls at this moment.", Double(activeCalls))
        text.add("ringwright_calls_limit", .gauge, "Calls that may run at a time.", Double(callLimit))
        text.add(
            "ringwright_calls_started_total", .counter, "Calls that began.",
            [CallInfo.Direction.inbound, .outbound].map { ([("direction", $0.rawValue)], Double(started[$0] ?? 0)) })
        text.add(
            "ringwright_calls_ended_total", .counter, "Calls that are over, by cause.",
            CallEnd.Cause.allCases.map { ([("cause", $0.rawValue)], Double(ended[$0] ?? 0)) })
        text.add(
            "ringwright_calls_refused_total", .counter, "Calls refused with 503, by what was exhausted.",
            Admission.Refusal.allCases.map { ([("limit", $0.rawValue)], Double(refused[$0] ?? 0)) })
        text.add("ringwright_calls_answered_total", .counter, "Calls that were answered.", Double(answered))
        text.add(
            "ringwright_calls_unacceptable_total", .counter, "Calls refused because no media could be agreed on.",
            Double(unacceptable))
        text.add(
            "ringwright_sip_messages_total", .counter, "SIP messages.",
            [([("direction", "received")], Double(signaling.received)), ([("direction", "sent")], Double(signaling.sent))])
        text.add(
            "ringwright_sip_problems_total", .counter, "What went wrong with SIP messages and streams.",
            [
                ([("kind", "garbage")], Double(signaling.garbage)), ([("kind", "malformed")], Double(signaling.malformed)),
                ([("kind", "send-failure")], Double(signaling.sendFailures)),
                ([("kind", "stream-refused")], Double(signaling.streamsRefused))
            ])
        text.add(
            "ringwright_tls_handshakes_total", .counter, "Handshakes of SIP over TLS, both roles.",
            [
                ([("result", "whole")], Double(signaling.handshakes - signaling.handshakesResumed)),
                ([("result", "resumed")], Double(signaling.handshakesResumed)),
                ([("result", "failed")], Double(signaling.handshakesFailed))
            ])
        if !lines.isEmpty { addLines(to: &text) }
        if let registrar { add(registrar, to: &text) }
        text.add(media)
        if let lostPackets {
            text.add(
                "ringwright_rtp_packets_lost_total", .counter, "RTP packets that never arrived, of calls that are over.",
                Double(max(0, lostPackets)))
        }
        if let prompts { text.add(prompts) }
        text.add(trace)
        text.add(
            "ringwright_loop_busy_seconds_total", .counter, "Time that a loop worked.",
            loops.map { ([("loop", $0.name)], $0.busy) })
        text.add(
            "ringwright_loop_turns_total", .counter, "Times that a loop woke up.",
            loops.map { ([("loop", $0.name)], Double($0.turns)) })
        text.add(
            "ringwright_loop_paced_turns_total", .counter, "Times that a busy loop looked for the messages that had gathered.",
            loops.map { ([("loop", $0.name)], Double($0.pacedTurns)) })
        text.add(
            "ringwright_loop_late_seconds", .gauge, "How late 99 of 100 timers ran at most.",
            loops.map { ([("loop", $0.name)], $0.lateTimers) })
        text.add(
            "ringwright_loop_tasks", .gauge, "Tasks that live on a loop.", loops.map { ([("loop", $0.name)], Double($0.tasks)) })
        return text.text
    }

    private func add(_ registrar: RegistrarFigures, to text: inout MetricsText) {
        text.add(
            "ringwright_registrar_bindings", .gauge, "Devices that are registered here.", Double(registrar.bindings))
        text.add(
            "ringwright_registrar_answers_total", .counter, "REGISTER requests by the status of their answer.",
            Set(registrar.answers.keys).union([200, 401, 403]).sorted().map {
                ([("status", "\($0)")], Double(registrar.answers[$0] ?? 0))
            })
    }

    private func addLines(to text: inout MetricsText) {
        text.add(
            "ringwright_lines", .gauge, "Lines that register or are watched, by their state.",
            LineStatus.State.allCases.map { state in
                ([("state", state.rawValue)], Double(lines.filter { $0.state == state }.count))
            })
        text.add(
            "ringwright_line_up", .gauge, "Whether a line is registered, or a watched trunk answers.",
            lines.map { ([("line", $0.name)], $0.state == .registered || $0.state == .available ? 1 : 0) })
        text.add(
            "ringwright_line_checks_total", .counter,
            "Registrations of a line, and questions to a watched trunk, by their result.",
            lines.flatMap { line in
                [("accepted", line.successes), ("failed", line.failures)].map {
                    ([("line", line.name), ("result", $0.0)], Double($0.1))
                }
            })
    }

    /// The status and body of /healthz: 503 while draining, so that a balancer sends nothing new.
    package var health: (status: Int, body: String) {
        let state = isDraining ? "draining" : activeCalls >= callLimit && callLimit > 0 ? "full" : "ready"
        let body = JSONText.object([
            ("status", .string(state)), ("version", .string(version)), ("calls", .count(activeCalls)),
            ("limit", .count(callLimit))
        ])
        return (state == "draining" ? 503 : 200, body.text + "\n")
    }
}
