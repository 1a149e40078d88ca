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
    func bound(_ constant: (Template.Constant) -> String) -> Scenario { changed { $0.bound(constant) } }

    /// The same with the port of the one socket that all calls have.
    func bound(localPort: Int) -> Scenario { changed { $0.bound(localPort: localPort) } }

    private func changed(_ change: (Template) -> Template) -> Scenario {
        var parts = ScenarioParts()
        parts.name = name
        parts.file = file
        parts.steps = steps.map { $0.changed(change) }
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
    fileprivate func changed(_ change: (Template) -> Template) -> Step {
        switch kind {
        case .send(let sending):
            let bound = Sending(
                change(sending.template), retransmission: sending.retransmission,
                startsTransaction: sending.startsTransaction, acknowledges: sending.acknowledges)
            return Step(.send(bound), common, actions: actions, line: line)
        case .sendCommand(let template, let destination):
            return Step(.sendCommand(change(template), destination: destination), common, actions: actions, line: line)
        default: return self
        }
    }
}
