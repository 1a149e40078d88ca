// What a run's keywords mean that are the same in every message.

import Basics

struct RunConstants {
    private var values: [Template.Constant: String] = [:]
    /// The version of SIPp whose files run here.
    static let version = "3.7.3"

    init(options: Options, addresses: RunAddresses, processID: Int) {
        func host(_ ip: IPAddress) -> String { ip.isV6 ? "[\(ip)]" : "\(ip)" }
        func type(_ ip: IPAddress) -> String { ip.isV6 ? "6" : "4" }
        values = [
            .service: options.calls.user, .remoteHost: addresses.remoteHost,
            .remoteIP: addresses.remote.map { host($0.ip) } ?? "", .remotePort: addresses.remote.map { "\($0.port)" } ?? "",
            .localIP: host(addresses.local.ip), .localIPType: type(addresses.local.ip), .transport: options.transport.name,
            .mediaIP: host(addresses.media), .mediaIPType: type(addresses.media), .processID: "\(processID)",
            .version: Self.version, .circuit: "0"
        ]
    }

    subscript(constant: Template.Constant) -> String { values[constant] ?? "" }
}

extension Scenario {
    /// The same with the constants of a run written into its messages.
    func bound(_ constant: (Template.Constant) -> String) -> Scenario {
        var parts = ScenarioParts()
        parts.name = name
        parts.file = file
        parts.steps = steps.map { $0.bound(constant) }
        parts.initSteps = initSteps
        parts.variables = variables
        parts.timers = timers
        parts.counters = counters
        parts.transactions = transactions
        parts.acknowledgements = acknowledgements
        parts.timerBorders = timerBorders
        parts.lengthBorders = lengthBorders
        parts.defaults = defaults
        parts.unexpected = unexpected
        return Scenario(parts)
    }
}

extension Step {
    fileprivate func bound(_ constant: (Template.Constant) -> String) -> Step {
        switch kind {
        case .send(var sending):
            sending.template = sending.template.bound(constant)
            return Step(.send(sending), common, actions: actions, line: line)
        case .sendCommand(let template, let destination):
            return Step(.sendCommand(template.bound(constant), destination: destination), common, actions: actions, line: line)
        default: return self
        }
    }
}
