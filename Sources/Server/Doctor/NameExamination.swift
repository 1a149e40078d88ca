// Whether the names of the configuration can be looked up.

import Basics
import CallEngine
import Glibc

enum NameExamination {
    static func findings(_ configuration: Configuration) -> [DoctorFinding] {
        let names = configuration.lines.filter { IPAddress($0.server) == nil }
        if names.isEmpty { return [finding("localhost", line: nil)] }
        return names.map { finding($0.server, line: $0.name) }
    }

    private static func finding(_ host: String, line: String?) -> DoctorFinding {
        let owner = line.map { " (line \($0))" } ?? ""
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let error = getaddrinfo(host, nil, &hints, &found)
        defer { if let found { freeaddrinfo(found) } }
        if error == 0 { return DoctorFinding(.well, "names", "\(host)\(owner) is known") }
        let words = String(cString: gai_strerror(error))
        return DoctorFinding(
            .problem, "names", "\(host)\(owner) cannot be looked up: \(words)",
            mend: line == nil ? "look at /etc/hosts" : "look at /etc/resolv.conf and at the spelling")
    }
}
