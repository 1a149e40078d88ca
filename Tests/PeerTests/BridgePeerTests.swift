// A flow that asks the callee before it connects him, with the program itself, a caller and baresip as the callee: who hears what, and when.

import CallEngine
import Foundation
import Reactor
import TestKit
import Testing

@Suite("bridges to baresip", .serialized, .enabled(if: Baresip.isInstalled, "baresip is not installed"))
struct BridgePeerTests {
    private static func flow(to port: UInt16) -> String {
        """
        flow: front
        prompts: \(Files.root.path)/prompts
        vars: { talk: {} }
        sections:
          main:
            - answer
            - bridge: { to: "sip:bot@127.0.0.1:\(port)", timeout: 8s, whisper: announce, screen: { key: "1", timeout: 8s }, keys: { "*7": farewell }, into: talk }
            - log: "outcome ${talk.outcome}"
            - hangup
          announce:
            - play: welcome.wav
            - log: whispered
          farewell:
            - log: farewell
            - play: goodbye.wav
            - goto: over
          over:
            - log: left
            - hangup
        """
    }

    private static let configuration =
        "allow: { bridge: [ \"sip:bot@127.0.0.1:*\" ] }\nroutes: [ { to: \"100\", flow: flow.yaml } ]\n"

    @Test("the callee hears the whisper alone, takes the call by a key, talks, and ends the talk by keys")
    func whisperScreenAndKeys() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("caller.wav")
        let baresip = try Baresip(speaking: "probe", after: .seconds(6), room: .seconds(20), limit: 40)
        let server = try ServedFlows(configuration: Self.configuration, flow: Self.flow(to: baresip.port))
        let caller = try EngineUnderTest()
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:100@127.0.0.1:\(server.port)")) { call, notes in
            _ = try await call.wait(for: .answered, timeout: .seconds(5))
            try call.startRecording(path, notes: notes)
            // Ringback stops when the two are connected.
            let ringback = call.listen(ListenRequest(speech: true))
            let talk = Waiter<Void>()
            ringback.onEvent = { if case .speechBegan = $0 { talk.resume(returning: ()) } }
            try await talk.wait()
            notes.add("hears speech")
            try await call.say("sales")
            notes.add("said")
            try await call.stay(.seconds(20))
        }
        #expect(server.waitForOutput("whispered", .seconds(15)), "\(server.output)")
        baresip.press("1")
        #expect(caller.waitForNote("said", .seconds(20)), "\(server.output)")
        baresip.press("*7")
        #expect(server.waitForOutput("left", .seconds(10)), "\(server.output)")
        let report = try #require(caller.reports(1, within: .seconds(8)).first)
        #expect(report.end == CallEnd(by: .callee, cause: .normal))
        #expect(server.stop() == 0)
        let heard = baresip.stopAndListen()
        expectHeard("welcome", in: heard, not: "menu")
        expectHeard("sales", in: heard, not: "menu")
        expectHeard("goodbye", in: heard, not: "menu")
        // The caller heard the callee, and nothing of what was for the callee.
        expectHeard("probe", in: [path], not: "welcome")
        expectHeard("probe", in: [path], not: "goodbye")
    }

    @Test("a callee who presses nothing is not connected")
    func nobodyTakesIt() throws {
        let baresip = try Baresip(speaking: "probe", room: .seconds(20), limit: 40)
        let text = Self.flow(to: baresip.port).replacing("timeout: 8s }, keys", with: "timeout: 1s }, keys")
        let server = try ServedFlows(configuration: Self.configuration, flow: text)
        let caller = try EngineUnderTest()
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:100@127.0.0.1:\(server.port)")) { call, _ in try await call.stay(.seconds(20)) }
        #expect(server.waitForOutput("outcome no-answer", .seconds(20)), "\(server.output)")
        #expect(caller.reports(1, within: .seconds(8)).first?.end == CallEnd(by: .callee, cause: .normal))
        #expect(server.stop() == 0)
        expectHeard("welcome", in: baresip.stopAndListen(), not: "menu")
    }
}
