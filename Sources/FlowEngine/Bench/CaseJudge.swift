// Compares what a case expected with what happened.

import CallEngine

struct CaseJudge {
    let run: CaseRun

    init(run: CaseRun) { self.run = run }

    /// The expectation that did not come true, in words with what was there instead; nil when it did.
    func failure(of expectation: CaseExpectation) -> String? {
        let verdict = judge(expectation.kind)
        guard !verdict.holds else { return nil }
        return "\(expectation.place): expected \(verdict.expected), got \(verdict.actual)"
    }

    private func judge(_ kind: CaseExpectation.Kind) -> (holds: Bool, expected: String, actual: String) {
        let end = run.outcome?.end
        switch kind {
        case .not(let inner):
            let verdict = judge(inner)
            return (!verdict.holds, "not: \(verdict.expected)", verdict.actual)
        case .played(let names):
            var rest = run.played.map(\.name)[...]
            let holds = names.allSatisfy { name in
                guard let index = rest.firstIndex(where: { FlowBenchPattern.matches(name, $0) }) else { return false }
                rest = rest[(index + 1)...]
                return true
            }
            return (holds, "played \(names.joined(separator: ", then "))", list(run.played.map(\.name)))
        case .bridged(let target, let outcome):
            let bridges = run.events.compactMap { event in
                if case .bridged(let to, let how, _) = event { (to, how) } else { nil }
            }
            let tried = run.events.flatMap { event in if case .bridging(let targets) = event { targets } else { [String]() } }
            let holds =
                outcome.map { wanted in
                    bridges.contains { FlowBenchPattern.matches(target, $0.0) && $0.1 == wanted }
                } ?? tried.contains { FlowBenchPattern.matches(target, $0) }
            return (
                holds, "bridged \(target)\(outcome.map { " (\($0))" } ?? "")",
                list(outcome == nil ? tried : bridges.map { "\($0.0) (\($0.1))" })
            )
        case .transferred(let target, let outcome):
            let transfers = run.events.compactMap { event in
                if case .transferred(let to, let how, _) = event { (to, how) } else { nil }
            }
            return (
                transfers.contains { FlowBenchPattern.matches(target, $0.0) && $0.1 == outcome },
                "transfer to \(target) (\(outcome))", list(transfers.map { "\($0.0) (\($0.1))" })
            )
        case .conference(let room, let outcome):
            let joined = run.events.compactMap { event in
                if case .conferenceJoined(let name, _) = event { name } else { nil }
            }
            let left = run.events.compactMap { event in
                if case .conferenceLeft(let name, let how, _) = event { (name, how) } else { nil }
            }
            let holds =
                outcome.map { wanted in left.contains { FlowBenchPattern.matches(room, $0.0) && $0.1 == wanted } }
                ?? joined.contains { FlowBenchPattern.matches(room, $0) }
            return (
                holds, "conference \(room)\(outcome.map { " (\($0))" } ?? "")",
                list(outcome == nil ? joined : left.map { "\($0.0) (\($0.1))" })
            )
        case .message(let text, let target, let outcome):
            let messages = run.events.compactMap { event in
                if case .messageSent(let to, let text, let how, _) = event { (to, text, how) } else { nil }
            }
            let holds = messages.contains { message in
                (text.map { FlowBenchPattern.matches($0, message.1) } ?? true)
                    && (target.map { FlowBenchPattern.matches($0, message.0) } ?? true) && (outcome ?? message.2) == message.2
            }
            let wanted = [text, target.map { "to \($0)" }, outcome.map { "(\($0))" }].compactMap { $0 }
            return (
                holds, "message \(wanted.joined(separator: " "))",
                list(messages.map { "\($0.1)\($0.0.isEmpty ? "" : " to \($0.0)") (\($0.2))" })
            )
        case .info(let wanted):
            let bodies = run.events.compactMap { event in if case .infoSent(let body, _, _) = event { body } else { nil } }
            return (bodies.contains { FlowBenchPattern.matches(wanted, $0) }, "info \(wanted)", list(bodies))
        case .notBridged:
            let tried = run.events.flatMap { event in if case .bridging(let targets) = event { targets } else { [String]() } }
            return (tried.isEmpty, "no bridge", list(tried))
        case .recorded(let name):
            let files = run.events.compactMap { event in if case .recordingBegan(let path) = event { path } else { nil } }
            let holds = name.map { name in files.contains { FlowBenchPattern.matches(name, $0) } } ?? !files.isEmpty
            return (holds, "recorded \(name ?? "something")", list(files))
        case .ended(let pattern): return (end.map(pattern.matches) ?? false, pattern.name, EndPattern.words(end))
        case .hungUp(let who):
            let flowSide: CallEnd.Party = run.call.direction == .inbound ? .callee : .caller
            let wanted: CallEnd.Party? =
                switch who {
                case "flow": flowSide
                case "far-side": flowSide == .callee ? .caller : .callee
                default: CallEnd.Party(rawValue: who)
                }
            return (end?.by == wanted, "hung up by \(who)", EndPattern.words(end))
        case .rejected(let status):
            return (
                run.call.finalStatus == status, "rejected with \(status)",
                run.call.finalStatus == 0 ? "no refusal" : "\(run.call.finalStatus)"
            )
        case .redirected(let contact):
            return (run.call.redirectedTo.contains(contact), "redirected to \(contact)", list(run.call.redirectedTo))
        case .answered(let wanted):
            let answered = run.call.info.answered != nil
            return (answered == wanted, wanted ? "answered" : "not answered", answered ? "answered" : "not answered")
        case .logged(let text):
            let lines = run.events.compactMap { event in if case .log(let line) = event { line } else { nil } }
            return (lines.contains { $0.contains(text) || FlowBenchPattern.matches(text, $0) }, "logged \(text)", list(lines))
        case .tagged(let name, let value):
            let tags = run.outcome?.tags ?? []
            let holds = tags.contains { $0.name == name && (value == nil || $0.value == value) }
            return (
                holds, "tag \(name)\(value.map { " = \($0)" } ?? "")",
                list(tags.map { $0.value.isEmpty ? $0.name : "\($0.name) = \($0.value)" })
            )
        case .value(let name, let wanted):
            let value = run.variables[name] ?? .null
            return (value == wanted || value.text == wanted.text, "\(name) = \(wanted.json)", value.json)
        case .collected(let digits):
            let all = run.events.compactMap { event in if case .collected(let digits, _) = event { digits } else { nil } }
            return (all.contains(digits), "collected \(digits)", list(all))
        case .sent(let keys): return (run.sent.contains(keys), "sent \(keys)", run.sent.isEmpty ? "nothing" : run.sent)
        case .requested(let url):
            let all = run.requests
            return (all.contains { FlowBenchPattern.matches(url, $0) || $0.hasSuffix(" \(url)") }, "requested \(url)", list(all))
        case .section(let name):
            let all = run.events.compactMap { event in if case .section(let name) = event { name } else { nil } }
            return (all.contains(name), "section \(name)", list(all))
        case .result(let wanted):
            let result = run.outcome?.result.rawValue ?? "none"
            return (result == wanted, "result \(wanted)", result + (run.outcome?.error.map { " (\($0))" } ?? ""))
        case .held: return (run.call.wasHeld, "held", "never held")
        case .failed(let text):
            let all = run.events.compactMap { event in if case .failed(let message, _) = event { message } else { nil } }
            return (all.contains { $0.contains(text) }, "an error with `\(text)`", list(all))
        case .verdict(let name, let passed):
            let all = run.outcome?.expectations ?? []
            let holds = all.contains { $0.name == name && $0.passed == passed }
            return (
                holds, "\(passed ? "passed" : "failed") \(name)",
                list(all.map { "\($0.passed ? "passed" : "failed") \($0.name)" })
            )
        }
    }

    private func list(_ items: [String]) -> String { items.isEmpty ? "nothing" : items.joined(separator: ", ") }
}
