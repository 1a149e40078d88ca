// Texts that call after call has in common, made once: this end in Via and Contact, From and Call-ID, where a dialog's target leads.
// One of each is remembered, of targets a thousand: who calls with many pays what he paid without.

import Basics
import SIP

struct KnownTexts {
    /// Where a URI leads, as far as it says so.
    struct Place {
        var ip: IPAddress
        var port: UInt16?
        var transport: Transport?
    }

    var end: (transport: Transport, address: SocketAddress, secure: Bool, end: LocalEnd)?
    var target: OutgoingTarget?
    private var host: (ip: IPAddress, octets: [UInt8])?
    private var from: (from: String, isName: Bool, displayName: String, ip: IPAddress, octets: [UInt8])?
    private var lastPlace: (uri: [UInt8], place: Place)?
    private var places: [[UInt8]: Place] = [:]
    private static let capacity = 1000

    /// `@` and the address, as in a Call-ID.
    mutating func host(of ip: IPAddress) -> [UInt8] {
        if let host, host.ip == ip { return host.octets }
        let octets = Array("@\(ip)".utf8)
        host = (ip, octets)
        return octets
    }

    /// `"Name" <sip:user@host>;tag=`; a bare user gets this host. A name of ours is written in lower case.
    mutating func from(_ from: String, isName: Bool, _ displayName: String, _ ip: IPAddress) -> [UInt8] {
        if let last = self.from, last.from == from, last.isName == isName, last.displayName == displayName, last.ip == ip {
            return last.octets
        }
        var writer = MessageWriter(capacity: 96)
        if !displayName.isEmpty {
            writer.appendQuoted(displayName)
            writer.append(" ")
        }
        writer.append("<")
        if !isName, (try? URI(from))?.isSIP == true {
            writer.append(safe: from)
        } else {
            writer.append("sip:")
            writer.append(safe: isName ? from.lowercased() : from)
            writer.append("@")
            writer.append(ip)
        }
        writer.append(">;tag=")
        self.from = (from, isName, displayName, ip, writer.octets)
        return writer.octets
    }

    /// Address and transport of a URI; nil for one without an address.
    mutating func place(of uri: [UInt8]) -> Place? {
        if let lastPlace, lastPlace.uri == uri { return lastPlace.place }
        guard let place = places[uri] ?? read(uri) else { return nil }
        lastPlace = (uri, place)
        return place
    }

    private mutating func read(_ uri: [UInt8]) -> Place? {
        guard let read = try? URI(uri, OctetRange(0, uri.count)), let ip = read.address else { return nil }
        let place = Place(ip: ip, port: read.port, transport: read.transport)
        if places.count >= Self.capacity { places.removeAll() }
        places[uri] = place
        return place
    }
}
