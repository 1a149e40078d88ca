// Ports for programs that cannot tell which one the system gave them.

import Basics
import Foundation
import TestKit

enum Ports {
    /// A port of 127.0.0.1 that is free for UDP and TCP now.
    static func free() -> UInt16 {
        for _ in 0..<100 {
            guard let udp = bound(.udp, port: 0) else { continue }
            defer { close(udp.descriptor) }
            if let tcp = bound(.tcp, port: udp.port) {
                close(tcp.descriptor)
                return udp.port
            }
        }
        preconditionFailure("no free port on 127.0.0.1")
    }

    /// An even port for RTP with three free UDP ports above.
    static func freeMedia() -> UInt16 {
        for _ in 0..<200 {
            guard let first = bound(.udp, port: 0) else { continue }
            defer { close(first.descriptor) }
            guard first.port % 2 == 0, first.port < 65_000 else { continue }
            let others = (1...3).map { bound(.udp, port: first.port + $0) }
            for case let other? in others { close(other.descriptor) }
            if others.allSatisfy({ $0 != nil }) { return first.port }
        }
        preconditionFailure("no free RTP ports on 127.0.0.1")
    }

    enum Kind: String {
        case udp
        case tcp
    }

    private static func bound(_ kind: Kind, port: UInt16) -> (descriptor: Int32, port: UInt16)? {
        let type = kind == .udp ? Int32(SOCK_DGRAM.rawValue) : Int32(SOCK_STREAM.rawValue)
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { return nil }
        var address = loopback(port)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
            }
        }
        guard result else {
            close(descriptor)
            return nil
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    /// Sends datagrams to a port of 127.0.0.1 and returns what came back within `patience`.
    static func exchange(_ datagrams: [[UInt8]], with port: UInt16, patience: Duration = .milliseconds(100)) -> [[UInt8]] {
        guard let own = bound(.udp, port: 0) else { return [] }
        defer { close(own.descriptor) }
        var address = loopback(port)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        for datagram in datagrams {
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    _ = sendto(own.descriptor, datagram, datagram.count, 0, pointer, length)
                }
            }
        }
        var answers: [[UInt8]] = []
        var waiting = pollfd(fd: own.descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&waiting, 1, Int32(patience.seconds * 1000)) == 1 {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(own.descriptor, &buffer, buffer.count, 0)
            if count < 0 { break }
            answers.append(Array(buffer.prefix(count)))
        }
        return answers
    }
}
