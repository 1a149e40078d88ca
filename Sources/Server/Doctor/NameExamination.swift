// Whether the servers of the configuration's lines can be found, the way that calls find them (RFC 3263).

import Basics
import CallEngine
import Reactor
import SIP

enum NameExamination {
    static func findings(_ configuration: Configuration, names: NameLookup = .dns()) -> [DoctorFinding] {
        let lines = configuration.lines.filter { IPAddress($0.server) == nil }
        if lines.isEmpty {
            let isKnown = names.records(.addresses("localhost"))?.addresses.isEmpty == false
            return [
                isKnown
                    ? DoctorFinding(.well, "names", "localhost is known")
                    : DoctorFinding(.problem, "names", "localhost cannot be looked up", mend: "look at /etc/hosts")
            ]
        }
        return lines.map { finding($0, names) }
    }

    private static func finding(_ line: LineSettings, _ names: NameLookup) -> DoctorFinding {
        let (servers, _) = HostResolver.search(line.serverTarget, names, [.udp, .tcp])
        var random = SystemRandomNumberGenerator()
        let hops = servers?.hops(using: &random) ?? []
        guard let first = hops.first else {
            return DoctorFinding(
                .problem, "names",
                "\(line.server) (line \(line.name)) cannot be looked up: \(servers == nil ? "no name server answers" : "there is no such name")",
                mend: "look at /etc/resolv.conf and at the spelling")
        }
        let others = hops.count > 1 ? " and \(hops.count - 1) more" : ""
        return DoctorFinding(
            .well, "names",
            "\(line.server) (line \(line.name)) is \("\(first.transport.name)".lowercased()):\(first.address)\(others)")
    }
}
