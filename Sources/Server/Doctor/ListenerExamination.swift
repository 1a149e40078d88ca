// Whether the ports of a configuration can be had: each is bound for a moment and given back.

package import Basics
import CallEngine
import Glibc

enum ListenerExamination {
    static func findings(_ configuration: Configuration) -> [DoctorFinding] {
        var result: [DoctorFinding] = []
        for listener in configuration.sip.listen {
            let name = "\(listener.transport.rawValue):\(listener.address)"
            result.append(finding(name, PortProbe.bind(listener.address, stream: listener.transport != .udp), "sip.listen"))
        }
        if let address = configuration.control.listen {
            result.append(finding("http on \(address)", PortProbe.bind(address, stream: true), "control.listen"))
        }
        result.append(media(configuration))
        if let external = configuration.sip.external, configuration.sip.listen.allSatisfy({ $0.address.ip == .loopback4 }) {
            result.append(
                DoctorFinding(
                    .warning, "ports", "sip.external is \(external), but SIP is listened for on loopback only",
                    mend: "listen on udp:0.0.0.0:5060"))
        }
        return result
    }

    private static func finding(_ name: String, _ error: Int32?, _ word: String) -> DoctorFinding {
        switch error {
        case nil: DoctorFinding(.well, "ports", "\(name) is free")
        case EADDRINUSE?:
            DoctorFinding(
                .problem, "ports", "\(name) is taken by another program",
                mend: "find it with `ss -lpn`, or choose another port in \(word)")
        case EACCES?:
            DoctorFinding(.problem, "ports", "\(name) may only be used by root", mend: "choose a port from 1024 on in \(word)")
        case EADDRNOTAVAIL?:
            DoctorFinding(
                .problem, "ports", "\(name) is no address of this machine",
                mend: "`ip address` lists them; 0.0.0.0 is all of them")
        case let error?:
            DoctorFinding(
                .problem, "ports", "\(name) cannot be bound: \(String(cString: strerror(error)))", mend: "look at \(word)")
        }
    }

    /// A sample of the media ports: the ends and some between.
    private static func media(_ configuration: Configuration) -> DoctorFinding {
        let ports = configuration.rtp.ports
        let step = max(1, ports.count / 16)
        let sample = Array(stride(from: Int(ports.lowerBound), through: Int(ports.upperBound), by: step)).map { UInt16($0) }
        let taken = sample.filter { PortProbe.bind(SocketAddress(ip: .any4, port: $0), stream: false) != nil }
        let range = "\(ports.lowerBound)-\(ports.upperBound)"
        if taken.isEmpty { return DoctorFinding(.well, "ports", "media ports \(range): \(sample.count) tried, all free") }
        return DoctorFinding(
            taken.count == sample.count ? .problem : .warning, "ports",
            "media ports \(range): \(taken.count) of \(sample.count) tried are taken (\(taken.prefix(3).map(String.init).joined(separator: ", ")))",
            mend: "choose another range in rtp.ports")
    }
}

/// Binds a port and gives it back.
package enum PortProbe {
    /// nil when it is free; otherwise the system's error number. A port of 0 is always free.
    package static func bind(_ address: SocketAddress, stream: Bool) -> Int32? {
        let kind = stream ? Int32(SOCK_STREAM.rawValue) : Int32(SOCK_DGRAM.rawValue)
        let descriptor = socket(address.ip.isV6 ? AF_INET6 : AF_INET, kind, 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        if stream {
            // As a server does: connections that ended lately do not keep the port.
            var yes: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        }
        var failed: Int32 = 0
        switch address.ip {
        case .v4(let value):
            var raw = sockaddr_in()
            raw.sin_family = sa_family_t(AF_INET)
            raw.sin_port = address.port.bigEndian
            raw.sin_addr.s_addr = value.bigEndian
            failed = bind(descriptor, &raw, MemoryLayout<sockaddr_in>.size)
        case .v6(let high, let low):
            var raw = sockaddr_in6()
            raw.sin6_family = sa_family_t(AF_INET6)
            raw.sin6_port = address.port.bigEndian
            withUnsafeMutableBytes(of: &raw.sin6_addr) {
                $0.storeBytes(of: high.bigEndian, as: UInt64.self)
                $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            failed = bind(descriptor, &raw, MemoryLayout<sockaddr_in6>.size)
        }
        guard failed == 0 else { return errno }
        if stream, listen(descriptor, 1) != 0 { return errno }
        return nil
    }

    private static func bind<Address>(_ descriptor: Int32, _ address: inout Address, _ size: Int) -> Int32 {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, socklen_t(size)) }
        }
    }
}
