// The called half of a test as the reports show it, read from the attempt's result.

import FlowEngine

struct ReportedParty: Equatable, Sendable {
    let name: String
    /// How often it was called.
    let calls: Int
    /// At which number; empty when it was not.
    let number: String
    /// From the caller's INVITE to its own, milliseconds.
    let setUp: Double?
    /// How much later it heard what the caller said, and the caller what it said; milliseconds.
    let latency: Double?
    let callerLatency: Double?
    /// Of its own call; `status` 0 and empty words without one.
    let verdict: String
    let status: Int
    let cause: String
    let detail: String
    let duration: Double?
    let score: Double?

    /// The parties of a result; none when it has none.
    static func all(in result: Value?) -> [ReportedParty] {
        guard case .list(let items)? = result?["parties"] else { return [] }
        return items.map { ReportedParty($0) }
    }

    private init(_ value: Value) {
        let call = value["call"]
        name = value["party"]?.string ?? ""
        calls = value["calls"]?.number.map { Int($0) } ?? 0
        number = value["number"]?.string ?? ""
        setUp = value["setup_ms"]?.number
        latency = value["heard"]?["latency_ms"]?.number
        callerLatency = value["was_heard"]?["latency_ms"]?.number
        verdict = call?["result"]?.string ?? ""
        status = call?["sip"]?["status"]?.number.map { Int($0) } ?? 0
        cause = call?["ended"]?["cause"]?.string ?? ""
        detail = call?["ended"]?["detail"]?.string ?? ""
        duration = call?["timings"]?["duration_ms"]?.number
        score = call?["media"]?["mos"]?.number
    }

    /// How its half ended, for people.
    var ending: String {
        if calls == 0 { return "was not called" }
        guard !cause.isEmpty else { return "called, and refused" }
        return "\(status) \(cause)" + (detail.isEmpty ? "" : " (\(detail))")
    }
}

extension Value {
    fileprivate subscript(name: String) -> Value? {
        if case .map(let map) = self { map[name] } else { nil }
    }

    fileprivate var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    fileprivate var number: Double? {
        switch self {
        case .int(let value): Double(value)
        case .uint(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }
}
