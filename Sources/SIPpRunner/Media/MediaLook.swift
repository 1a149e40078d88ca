// What a description (RFC 4566) tells of an end's media: where it takes each medium, by which numbers it hears keys, with which keys it
// encrypts. A plain look at lines: scenarios hold bodies that no strict reader takes.

import Basics

struct MediaLook {
    typealias Medium = Action.Medium

    private var addresses: [Medium: SocketAddress] = [:]
    /// The payload types of telephone-event in the audio medium, with their clocks in Hz.
    private(set) var keys: [UInt8: UInt32] = [:]
    /// The clocks of other payload types, in Hz.
    private(set) var clocks: [UInt8: UInt32] = [:]
    /// The lines a=crypto that can be used.
    private var lines: [Medium: [KeyLine]] = [:]

    /// nil when there is no `m=` line in it.
    init?(_ body: some Collection<UInt8>) {
        var session: IPAddress?
        var medium: Medium?
        var isInMedium = false
        var ports: [Medium: UInt16] = [:]
        var hosts: [Medium: IPAddress] = [:]
        for line in body.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            let line = line.drop { $0 == UInt8(ascii: " ") }
            guard line.count > 2, line[line.index(after: line.startIndex)] == UInt8(ascii: "=") else { continue }
            let text = String(decoding: line.dropFirst(2), as: UTF8.self)
            let words = text.split(separator: " ")
            switch line.first {
            case UInt8(ascii: "c"):
                // A multicast address may have its lifetime behind it.
                guard let ip = words.last.flatMap({ IPAddress($0.prefix { $0 != "/" }) }) else { continue }
                if let medium { hosts[medium] = ip } else if !isInMedium { session = ip }
            case UInt8(ascii: "m"):
                isInMedium = true
                medium = words.first.flatMap { Medium(rawValue: String($0)) }
                guard let medium, words.count > 1, let port = UInt16(words[1].prefix { $0 != "/" }) else { continue }
                if ports[medium] == nil { ports[medium] = port }
            case UInt8(ascii: "a"): if let medium { read(text, words, medium) }
            default: continue
            }
        }
        guard isInMedium else { return nil }
        for (medium, port) in ports where port > 0 {
            addresses[medium] = (hosts[medium] ?? session).map { SocketAddress(ip: $0, port: port) }
        }
    }

    private mutating func read(_ text: String, _ words: [Substring], _ medium: Medium) {
        if text.hasPrefix("crypto:") {
            if let line = KeyLine(text.dropFirst(7)) { lines[medium, default: []].append(line) }
        } else if text.hasPrefix("rtpmap:"), words.count > 1, let type = UInt8(words[0].dropFirst(7)), type < 128 {
            let parts = words[1].split(separator: "/")
            guard parts.count > 1, let clock = UInt32(parts[1]), clock > 0 else { return }
            if parts[0].lowercased() == "telephone-event" { keys[type] = clock } else { clocks[type] = clock }
        }
    }

    func address(_ medium: Medium) -> SocketAddress? { addresses[medium] }
    func lines(_ medium: Medium) -> [KeyLine] { lines[medium] ?? [] }
}
