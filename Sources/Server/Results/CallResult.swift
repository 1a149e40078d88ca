// The result of a call as people and scripts read it: one JSON object (docs/commands.md), or a few lines.

package import Basics
package import CallEngine
package import FlowEngine

/// What came of a call.
package struct CallResult: Equatable, Sendable {
    package enum Verdict: String, Sendable, CaseIterable {
        case passed
        /// The called side's doing, or an expectation.
        case failed
        /// This side's doing.
        case error
    }

    package var call: String
    package var target: String
    /// The flow's name; empty without one.
    package var flow: String
    package var status: Int
    package var reason: String
    package var end: CallEnd
    package var timings: CallTimings
    package var codec: String
    package var media: MediaReport
    package var digitsSent: String
    package var digitsReceived: String
    package var expectations: [Expectation]
    package var wasAnswered: Bool
    /// The mean opinion score of the worst few seconds.
    package var worstScore: Double?
    /// The flow broke down: a mistake in it, a file that is not there.
    package var flowFailed = false
    /// Somebody cut it short from outside (Ctrl-C): what it was to show was not shown, whatever was met until then.
    package var wasInterrupted = false

    /// - Parameters:
    ///   - info: the facts at the call's end.
    ///   - digitsSent: keys that this side pressed, without secret ones.
    package init(
        info: CallInfo, end: CallEnd, target: String, flow: String, digitsSent: String = "", digitsReceived: String = "",
        expectations: [Expectation] = []
    ) {
        call = info.id
        self.target = target
        self.flow = flow
        status = info.sipStatus
        reason = info.sipReason
        self.end = end
        timings = info.timings
        if timings.total == nil, let ended = info.ended { timings.total = ended - info.started }
        codec = info.codec
        media = info.media
        self.digitsSent = digitsSent
        self.digitsReceived = digitsReceived
        self.expectations = expectations
        wasAnswered = info.answered != nil
    }

    /// As above, for a call that ran a flow.
    package init(info: CallInfo, end: CallEnd, target: String, outcome: FlowOutcome, digitsReceived: String) {
        self.init(
            info: info, end: end, target: target, flow: outcome.flow, digitsSent: outcome.digitsSent,
            digitsReceived: digitsReceived,
            expectations: outcome.expectations)
        worstScore = outcome.worstScore
        flowFailed = outcome.result == .error
        if flowFailed, let error = outcome.error, self.end.detail.isEmpty { self.end.detail = "\(error)" }
    }

    /// Expectations decide when there are any, unless this side broke down; otherwise an answer and a normal end are what a call is for.
    package var verdict: Verdict {
        if wasInterrupted || flowFailed || end.cause == .error { return .error }
        if expectations.contains(where: { !$0.passed }) { return .failed }
        if !expectations.isEmpty { return .passed }
        return wasAnswered && end.cause == .normal ? .passed : .failed
    }

    package var exitStatus: ExitStatus { verdict == .passed ? .passed : .failed }

    /// One object, in the order of docs/commands.md.
    package var json: JSONText { .object(members) }

    /// The members of `json`, for who adds others.
    package var members: [(name: String, value: JSONText)] {
        [
            ("call", .string(call)), ("target", .string(target)), ("flow", .string(flow)), ("result", .string(verdict.rawValue)),
            ("sip", .object([("status", .count(status)), ("reason", .string(reason))])),
            (
                "ended",
                .object([
                    ("by", .string(end.by.rawValue)), ("cause", .string(end.cause.rawValue)), ("detail", .string(end.detail))
                ])
            ),
            (
                "timings",
                .object([
                    ("trying_ms", .milliseconds(timings.trying)), ("ringing_ms", .milliseconds(timings.ringing)),
                    ("first_media_ms", .milliseconds(timings.firstMedia)), ("answer_ms", .milliseconds(timings.answer)),
                    ("duration_ms", .milliseconds(timings.total))
                ])
            ),
            ("media", mediaJSON),
            ("digits", .object([("sent", .string(digitsSent)), ("received", .string(digitsReceived))])),
            (
                "expectations",
                .array(
                    expectations.map {
                        .object([("name", .string($0.name)), ("passed", .bool($0.passed)), ("actual", .string($0.actual))])
                    })
            )
        ]
    }

    private var mediaJSON: JSONText {
        let mos = VoiceQuality.meanOpinionScore(of: media, codec: codec)
        return .object([
            ("codec", .string(codec)), ("srtp", .string(media.srtp.isEmpty ? "none" : media.srtp)), ("sent", .count(media.sent)),
            ("received", .count(media.received)),
            ("lost", .count(media.lost)), ("late", .count(media.late)), ("jitter_ms", .milliseconds(media.jitter)),
            ("rtt_ms", .milliseconds(media.roundTrip)), ("mos", mos.map { .number($0, digits: 2) } ?? .null),
            ("worst_mos", worstScore.map { .number($0, digits: 2) } ?? .null),
            ("max_jitter_ms", .milliseconds(media.maximumJitter)),
            ("one_way", media.oneWay.map { .string($0.rawValue) } ?? .null),
            ("clipped_start_ms", .milliseconds(media.clippedStart)), ("remote", remoteJSON)
        ])
    }

    /// What the other side's RTCP told about our stream.
    private var remoteJSON: JSONText {
        guard let remote = media.remote else { return .null }
        return .object([
            ("lost", .count(remote.lost)), ("jitter_ms", .milliseconds(remote.jitter)),
            ("mos", remote.score.map { .number($0, digits: 2) } ?? .null)
        ])
    }

    /// A few lines for a person.
    package var summary: String {
        var lines = ["\(verdict.rawValue): \(target): \(status == 0 ? "no answer came" : "\(status) \(reason)")"]
        let length = timings.total.map { ", after \(JSONText.number($0 / .seconds(1), digits: 1).text) s" } ?? ""
        lines.append(
            "  ended by \(end.by.rawValue): \(end.cause.rawValue)\(end.detail.isEmpty ? "" : " (\(end.detail))")\(length)")
        if !codec.isEmpty {
            let secured = media.srtp.isEmpty ? "" : ", encrypted (\(media.srtp))"
            lines.append(
                "  \(codec)\(secured): \(media.sent) packets sent, \(media.received) received, \(media.lost) lost, "
                    + "jitter \(JSONText.milliseconds(media.jitter).text) ms")
        }
        switch media.oneWay {
        case .hearsNothing: lines.append("  one-way audio: nothing came from the other side")
        case .isNotHeard: lines.append("  one-way audio: the other side has received nothing")
        case nil: break
        }
        if let clipped = media.clippedStart, clipped > .zero {
            lines.append("  clipped start: the first \(JSONText.milliseconds(clipped).text) ms of the other side did not come")
        }
        if !digitsSent.isEmpty { lines.append("  pressed \(digitsSent)") }
        if !digitsReceived.isEmpty { lines.append("  the other side pressed \(digitsReceived)") }
        for expectation in expectations {
            lines.append(
                "  \(expectation.passed ? "as expected" : "NOT as expected"): \(expectation.name): \(expectation.actual)")
        }
        return lines.joined(separator: "\n")
    }
}
