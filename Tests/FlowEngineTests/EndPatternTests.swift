// `expect: ended`: in `always`, while it rings, and of a call that goes on; and what is no end.

import FlowEngine
import Testing

@Suite struct EndPatternTests {
    private static func flow(
        _ direction: String, _ steps: [String], always: [String] = [], far: String, logged: String
    ) -> String {
        "flow: f\ndirection: \(direction)\nsections:\n  start:\n" + steps.map { "    - \($0)\n" }.joined()
            + "always:\n" + always.map { "  - \($0)\n" }.joined() + "  - log: \"${result.passed} ${result.actual}\"\n"
            + "cases: [ { name: x, \(far), expect: [ { logged: \"\(logged)\" } ] } ]\n"
    }

    @Test(arguments: [
        ("[ { waits: 2s }, hangs-up ]", "cancelled", "true cancelled by caller"),
        ("[ { waits: 2s }, hangs-up ]", "{ cause: cancelled, by: callee }", "false cancelled by caller"),
        ("[ { waits: 20s }, hangs-up ]", "cancelled", "false normal by callee"),
        ("[ { waits: 20s }, hangs-up ]", "{ by: callee }", "true normal by callee")
    ]) func ofACallThatIsOver(caller: String, pattern: String, logged: String) throws {
        try runCases(
            Self.flow(
                "inbound", ["ring", "wait: 5s", "answer", "hangup"], always: ["expect: { ended: \(pattern) }"],
                far: "caller: \(caller)", logged: logged))
    }

    @Test(arguments: [
        ("inbound", "caller: [ { waits: 2s }, hangs-up ]", "true cancelled by caller"),
        ("inbound", "caller: [ { waits: 9s }, hangs-up ]", "false no end within 5s"),
        ("outbound", "callee: [ rings, { waits: 1s }, answers, { waits: 9s } ]", "false answered")
    ]) func whileItRings(direction: String, far: String, logged: String) throws {
        try runCases(
            Self.flow(
                direction, ["ring", "expect: { ended: cancelled, within: 5s, name: given up }"],
                far: far, logged: logged))
    }

    /// What the CANCEL of a flow that gives up was answered is known in `always`.
    @Test func theStatusOfACallThatWasGivenUp() throws {
        try runCases(
            Self.flow(
                "outbound", ["ring", "expect: { answered: never, within: 3s }", "hangup"],
                always: ["expect: { status: 487 }"], far: "callee: [ rings, { waits: 9s } ]",
                logged: "true 487 Request Terminated"))
    }

    @Test func ofACallThatGoesOn() throws {
        try runCases(
            Self.flow(
                "inbound", ["answer", "expect: { ended: normal }", "log: \"${result.actual}\"", "wait: 3s"],
                far: "caller: [ { waits: 1s }, hangs-up ]", logged: "the call goes on"))
    }

    @Test(arguments: [
        ("ended: gone", "`gone`"), ("ended: {}", "`ended` asks nothing"), ("ended: { by: nobody }", "`nobody`"),
        ("ended: { cause: gone }", "`gone`")
    ]) func whatIsNoEndIsRefused(pattern: String, words: String) {
        let text = "flow: f\nsections: { start: [ answer, { expect: { \(pattern) } } ] }\n"
        let errors = FlowLoader.load(text: text, file: "f").diagnostics.filter { $0.severity == .error }.map(\.description)
        #expect(errors.count == 1 && errors[0].contains(words), "\(errors)")
    }
}
