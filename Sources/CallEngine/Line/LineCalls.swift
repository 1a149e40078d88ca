// What a line says of the calls that go out by it.

import Basics
package import SIP

extension LineSettings {
    /// What its messages go over, unless the domain chooses.
    var sipTransport: Transport { transport.onTheWire }

    /// Whose servers it is sent to.
    package var serverTarget: ServerTarget {
        ServerTarget(host: server, port: port, transport: findsTransport ? nil : sipTransport)
    }

    /// The servers of an edge proxy.
    func target(of edge: Registration.Edge) -> ServerTarget {
        ServerTarget(host: edge.server, port: edge.port, transport: findsTransport ? nil : sipTransport)
    }

    /// An edge proxy as a value of Route.
    func route(to edge: Registration.Edge) -> [UInt8] {
        let name = sipTransport == .wss ? "ws" : "\(sipTransport.name)".lowercased()
        let transport = findsTransport || sipTransport == .udp ? "" : ";transport=\(name)"
        return Array("<sip:\(edge.name)\(transport);lr>".utf8)
    }

    /// The domain of its numbers: the registrar's, or the trunk's server.
    var domain: String { registration?.domain ?? server + (port.map { ":\($0)" } ?? "") }

    /// The user part of its contact and of its address of record.
    var registeredUser: String { username ?? name }

    /// Who calls: what the call asks for, else the line's caller id, else the registered address. A bare number or user of a registered
    /// line is one of its registrar's domain.
    func from(_ asked: String?) -> String? {
        guard let registration else { return asked ?? callerID }
        let user = asked ?? callerID ?? registeredUser
        if (try? URI(user)) != nil { return user }
        return "sip:\(LocalEnd.escaped(user: user))@\(registration.domain)"
    }
}
