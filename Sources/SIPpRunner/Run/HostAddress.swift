// Names of hosts by the system's resolver, as SIPp has them: it blocks. At the start, and in `setdest`.

package import Basics
import Glibc

package enum HostAddress {
    /// The first address of a host, or the one that is written there.
    package static func look(_ host: String) -> IPAddress? {
        if let ip = IPAddress(host) { return ip }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &found) == 0, let first = found else { return nil }
        defer { freeaddrinfo(first) }
        var text = [CChar](repeating: 0, count: 64)
        guard getnameinfo(first.pointee.ai_addr, first.pointee.ai_addrlen, &text, 64, nil, 0, NI_NUMERICHOST) == 0 else {
            return nil
        }
        return IPAddress(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    }

    /// `host`, `host:port`, `[::1]:5060`: the host and the port.
    package static func split(_ text: String) -> (host: String, port: UInt16?)? {
        if let address = SocketAddress(text) { return ("\(address.ip)", address.port) }
        if IPAddress(text) != nil { return (text, nil) }
        guard let colon = text.lastIndex(of: ":") else { return (text, nil) }
        guard let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        return (String(text[..<colon]), port)
    }
}
