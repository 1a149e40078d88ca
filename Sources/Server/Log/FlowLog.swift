// What a flow does, as lines of the log. The flow has masked what is secret before it gets here.

import Basics
import CallEngine
package import FlowEngine

/// Writes the events of one call's flow. Belongs to the call's loop.
package final class FlowLog: FlowObserver {
    private let log: Log
    private let call: String

    /// - Parameter call: the call's id.
    package init(_ log: Log, call: String) {
        self.log = log
        self.call = call
    }

    package func flow(_ run: FlowRun, did event: FlowEvent) {
        switch event {
        case .section(let name): add(.debug, "section \(name)")
        case .stepBegan(let verb, let place): add(.debug, "step \(verb)", [("at", "\(place)")])
        case .stepEnded(let verb, let outcome?, let place):
            add(.debug, "step \(verb) ended", [("outcome", outcome), ("at", "\(place)")])
        case .stepEnded(_, nil, _): break
        case .promptBegan(let names): add(.debug, "plays \(names.joined(separator: ", "))")
        case .promptEnded(let names, .failed(let why)):
            add(.warning, "could not play \(names.joined(separator: ", "))", [("why", why)])
        case .promptEnded: break
        case .collected(let digits, let reason): add(.info, "collected", [("digits", digits), ("reason", reason)])
        case .digitsSent(let digits): add(.info, "pressed", [("digits", digits)])
        case .bridging(let targets): add(.info, "calls \(targets.joined(separator: ", "))")
        case .bridged(let target, let outcome, let status):
            add(.info, "bridge ended", [("target", target), ("outcome", outcome), ("status", String(status))])
        case .transferred(let target, let outcome, let status):
            add(.info, "transfer ended", [("target", target), ("outcome", outcome), ("status", String(status))])
        case .messageSent(let target, let text, let outcome, let status):
            let fields = [("to", target), ("outcome", outcome), ("status", String(status)), ("text", text)]
            add(.info, "text sent", fields.filter { !$0.1.isEmpty })
        case .infoSent(let body, let outcome, let status):
            add(.info, "INFO sent", [("outcome", outcome), ("status", String(status)), ("body", body)])
        case .conferenceJoined(let room, let members):
            add(.info, "conference joined", [("room", room), ("members", String(members))])
        case .conferenceLeft(let room, let outcome, let members):
            add(.info, "conference left", [("room", room), ("outcome", outcome), ("members", String(members))])
        case .conferenceSpeaking(let room, let speaks):
            add(.debug, speaks ? "speaks in the conference" : "speaks no more in the conference", [("room", room)])
        case .recordingBegan(let path): add(.info, "records", [("file", path)])
        case .recorded(let path, let length, let problem):
            let fields = [("file", path), ("seconds", JSONText.number(length.seconds, digits: 1).text)]
            if let problem {
                add(.warning, "recorded, not complete", fields + [("why", problem)])
            } else {
                add(.info, "recorded", fields)
            }
        case .requested(let method, let url, let status):
            add(.info, "requested", [("method", method), ("url", url), ("status", String(status))])
        case .quality(let event): add(event)
        case .log(let text): add(.info, text)
        case .warning(let text, let place): add(.warning, text, place.map { [("at", "\($0)")] } ?? [])
        case .tag(let name, let value): add(.info, "tag", [("name", name), ("value", value)])
        case .expectation(let expectation):
            add(
                expectation.passed ? .info : .warning, expectation.passed ? "as expected" : "not as expected",
                [("name", expectation.name), ("actual", expectation.actual)])
        case .failed(let text, let place): add(.error, text, place.map { [("at", "\($0)")] } ?? [])
        // With a call's end, the log of a server has the result in one line.
        case .ended(let result): add(.debug, "flow ended", [("flow", run.flowName), ("result", result.rawValue)])
        }
    }

    private func add(_ event: QualityEvent) {
        switch event {
        case .measured(let figures):
            add(
                .debug, "quality",
                [
                    ("mos", figures.score.map { JSONText.number($0, digits: 2).text } ?? "-"),
                    ("received", "\(figures.received)"),
                    ("lost", "\(figures.lost)"), ("late", "\(figures.late)"),
                    ("jitter_ms", JSONText.milliseconds(figures.jitter).text),
                    ("remote_lost", figures.remote.map { "\($0.lost)" } ?? "-")
                ])
        case .oneWay(let way?): add(.warning, "one-way audio", [("which", way.rawValue)])
        case .oneWay(nil): add(.info, "audio passes both ways")
        case .clippedStart(let length):
            add(.warning, "clipped start", [("missing_ms", JSONText.milliseconds(length).text)])
        }
    }

    /// The words are put together only for a level that is written.
    private func add(
        _ level: Configuration.Log.Level, _ message: @autoclosure () -> String,
        _ fields: @autoclosure () -> [(name: String, value: String)] = []
    ) {
        guard log.takes(level) else { return }
        log.add(LogLine(level, message(), fields: [("call", call)] + fields()))
    }
}
