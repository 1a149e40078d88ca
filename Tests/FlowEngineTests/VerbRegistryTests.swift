// Walks all verbs: each has an example that parses, a part in docs/flows.md, and stops within a virtual second when the call ends or
// the flow is cancelled.

import Basics
import CallEngine
import FlowEngine
import Foundation
import Reactor
import Testing

@Suite struct VerbRegistryTests {
    static let names = VerbRegistry.all.map { $0.name }

    /// A flow that runs the verb's example once the call is far enough for it, and then waits for an hour.
    private func flow(_ type: any Verb.Type) throws -> Flow {
        let example = type.example.split(separator: "\n").joined(separator: "\n      ")
        let needsAnswer: Bool =
            switch type.needs {
            case .answered, .media: true
            case .nothing, .call, .unanswered: false
            }
        let before = (needsAnswer ? "    - answer\n" : "") + "    - set: { count: 0 }\n"
        let text =
            "flow: t\nvars: { pin: \"\" }\nsections:\n  main:\n\(before)    - \(example)\n    - wait: 1h\n  menu:\n    - wait: 1h\n    - hangup\n"
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ringwright-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try "flow: pin\nvars: { tries: 1 }\nsections:\n  main:\n    - wait: 1h\n".write(
            to: folder.appendingPathComponent("pin.yaml"), atomically: true, encoding: .utf8)
        var options = FlowLoadOptions()
        options.prompts = Prompts()
        let result = FlowLoader.load(text: text, file: folder.path + "/flow.yaml", options: options)
        #expect(result.diagnostics.filter { $0.severity == .error }.map(\.description) == [], "\(type.name)")
        return try #require(result.flow)
    }

    private func call(_ direction: CallInfo.Direction, on loop: VirtualLoop) -> SimulatedCall {
        let party = CallParty(uri: "sip:anna@example.com", user: "anna", host: "example.com")
        return SimulatedCall(loop: loop, info: CallInfo(id: "c", direction: direction, from: party, to: party, started: loop.now))
    }

    @Test(arguments: names)
    func exampleParses(name: String) throws {
        _ = try flow(try #require(VerbRegistry.byName[name]))
    }

    @Test(arguments: names)
    func isDocumented(name: String) throws {
        let path = URL(fileURLWithPath: FlowFilesTests.folder).deletingLastPathComponent().appendingPathComponent("docs/flows.md")
        let text = try String(contentsOf: path, encoding: .utf8)
        #expect(text.split(separator: "\n").contains { $0.hasPrefix("### ") && $0.contains("`\(name)`") })
    }

    @Test(arguments: names, [CallInfo.Direction.inbound, .outbound])
    func stopsWithinASecondWhenTheCallEnds(name: String, direction: CallInfo.Direction) throws {
        let flow = try flow(try #require(VerbRegistry.byName[name]))
        guard flow.direction.allows(direction) else { return }
        let loop = VirtualLoop()
        let call = call(direction, on: loop)
        var outcome: FlowOutcome?
        loop.spawn { outcome = await FlowRun(flow: flow, call: call, environment: FlowEnvironment()).run() }
        if direction == .outbound { loop.schedule(after: .milliseconds(100)) { call.farSideAnswers() } }
        loop.schedule(after: .milliseconds(700)) { call.farSideHangsUp() }
        loop.run(until: .zero + .milliseconds(1700))
        #expect(outcome != nil)
        #expect(loop.liveTasks == 0)
        #expect(loop.pendingTimers == 0)
    }

    @Test(arguments: names, [CallInfo.Direction.inbound, .outbound])
    func stopsWithinASecondWhenTheFlowIsCancelled(name: String, direction: CallInfo.Direction) throws {
        let flow = try flow(try #require(VerbRegistry.byName[name]))
        guard flow.direction.allows(direction) else { return }
        let loop = VirtualLoop()
        let call = call(direction, on: loop)
        var outcome: FlowOutcome?
        let task = loop.spawn { outcome = await FlowRun(flow: flow, call: call, environment: FlowEnvironment()).run() }
        loop.schedule(after: .milliseconds(700)) { task.cancel() }
        loop.run(until: .zero + .milliseconds(1700))
        #expect(outcome != nil)
        #expect(call.state.isEnded)
        #expect(loop.liveTasks == 0)
        #expect(loop.pendingTimers == 0)
    }

    @Test func noVerbIsBuiltAndRefused() {
        #expect(VerbRegistry.notBuilt.isDisjoint(with: Self.names))
        #expect(Set(Self.names).count == Self.names.count)
    }
}
