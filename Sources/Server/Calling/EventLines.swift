// What a flow does, in a line for a person each.

import Basics
import CallEngine
package import FlowEngine

/// Tells each event that a person wants to follow.
package final class EventLines: FlowObserver {
    private let line: (String) -> Void

    package init(_ line: @escaping (String) -> Void) {
        self.line = line
    }

    package func flow(_ run: FlowRun, did event: FlowEvent) {
        if let words = Self.words(for: event) { line(words) }
    }

    /// nil for what is of no interest to a person who follows the call.
    package static func words(for event: FlowEvent) -> String? {
        switch event {
        case .promptBegan(let names): "plays \(names.joined(separator: ", "))"
        case .promptEnded(let names, .failed(let why)): "cannot play \(names.joined(separator: ", ")): \(why)"
        case .collected(let digits, let reason): digits.isEmpty ? "heard no key (\(reason))" : "heard \(digits) (\(reason))"
        case .digitsSent(let digits): "presses \(digits)"
        case .bridging(let targets): "calls \(targets.joined(separator: ", "))"
        case .bridged(let target, let outcome, _): "\(target): \(outcome)"
        case .transferred(let target, let outcome, _): "transfer to \(target): \(outcome)"
        case .messageSent(let target, let text, let outcome, _):
            "text\(target.isEmpty ? "" : " to \(target)") (\(outcome)): \(text)"
        case .infoSent(let body, let outcome, _): "INFO (\(outcome)): \(body)"
        case .conferenceJoined(let room, let members): "joins the conference \(room), \(members) in it"
        case .conferenceLeft(let room, let outcome, _): "conference \(room): \(outcome)"
        case .recordingBegan: "records"
        case .recorded(_, let length, let problem):
            "recorded \(FlowDuration.print(.milliseconds(length.components.seconds * 1000)))"
                + (problem.map { ", not complete: \($0)" } ?? "")
        case .requested(let method, let url, let status): "\(method) \(url): \(status)"
        case .quality(let event): words(for: event)
        case .log(let text): "log: \(text)"
        case .warning(let text, _): "warning: \(text)"
        case .tag(let name, let value): "tag \(name): \(value)"
        case .expectation(let expectation):
            "\(expectation.passed ? "as expected" : "NOT as expected"): \(expectation.name): \(expectation.actual)"
        case .failed(let text, _): "failed: \(text)"
        case .section, .stepBegan, .stepEnded, .promptEnded, .conferenceSpeaking, .ended: nil
        }
    }

    /// Figures only where somebody would complain: a score below 3.6 (some are dissatisfied, ITU-T G.107) or a hundredth lost.
    private static func words(for event: QualityEvent) -> String? {
        switch event {
        case .measured(let figures):
            guard figures.lossPercent >= 1 || figures.score ?? 5 < 3.6 else { return nil }
            let score = figures.score.map { "MOS \(JSONText.number($0, digits: 1).text), " } ?? ""
            return "bad quality: \(score)\(JSONText.number(figures.lossPercent, digits: 1).text)% lost, "
                + "jitter \(JSONText.milliseconds(figures.jitter).text) ms"
        case .oneWay(.hearsNothing): return "one-way audio: nothing comes from the other side"
        case .oneWay(.isNotHeard): return "one-way audio: the other side receives nothing"
        case .oneWay(nil): return "audio passes both ways"
        case .clippedStart(let length):
            return "clipped start: the first \(JSONText.milliseconds(length).text) ms of the other side did not come"
        }
    }
}
