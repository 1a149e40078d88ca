// One call of a sipp scenario to the engine, or of the engine to a sipp scenario.

import CallEngine
import TestKit
import Testing

/// Lets sipp call an engine by a scenario of our own, and checks that it went as the scenario says.
/// - Returns: what the engine saw; nil when no call came to be (the scenario expects that, or the test failed already).
@discardableResult
func sippCalls(
    _ scenario: String, transport: Sipp.Transport = .udp, engine: EngineUnderTest, folder: TemporaryFolder? = nil,
    more: [String] = [],
    calls: Int = 1, _ place: SourceLocation = #_sourceLocation
) throws -> CallReport? {
    let sipp = try Sipp(
        .own(scenario), target: transport == .udp ? engine.udpPort : engine.tcpPort, transport: transport, calls: 1,
        folder: folder,
        more: more)
    sipp.expectSuccess(place)
    return engine.reports(calls, within: .seconds(3)).first
}

/// Lets the engine call a sipp scenario of our own, and checks that it went as the scenario says.
@discardableResult
func sippIsCalled(
    _ scenario: String, transport: Sipp.Transport = .udp, engine: EngineUnderTest, line: String? = nil, port: UInt16? = nil,
    more: [String] = [], _ place: SourceLocation = #_sourceLocation, flow: @escaping TestFlow
) throws -> CallReport? {
    let sipp = try Sipp(.own(scenario), transport: transport, port: port, more: more)
    let target = line == nil ? "sip:callee@127.0.0.1:\(sipp.port);transport=\(transport)" : "callee"
    engine.call(CallRequest(target: target, line: line), flow: flow)
    sipp.expectSuccess(place)
    return engine.reports(1, within: .seconds(5)).first
}
