// What a description (RFC 4566) tells of the far end's media: where it takes each medium, and by which number it hears keys. A plain look
// at lines: scenarios hold bodies that no strict reader takes.

import Basics

struct MediaLook {
    var audio: SocketAddress?
    var video: SocketAddress?
    var image: SocketAddress?
    /// The payload type of telephone-event in the audio medium.
    var keys: UInt8?

    /// nil when there is no `m=` line in it.
    init?(_ body: ArraySlice<UInt8>) {
        var session: IPAddress?
        var medium = Substring()
        var ports: [Substring: UInt16] = [:]
        var addresses: [Substring: IPAddress] = [:]
        for line in body.split(whereSeparator: { $0 == 10 || $0 == 13 })
        where line.count > 2 && line[line.startIndex + 1] == UInt8(ascii: "=") {
            let text = String(decoding: line.dropFirst(2), as: UTF8.self)
            let words = text.split(separator: " ")
            switch line.first {
            case UInt8(ascii: "c"):
                // A multicast address may have its lifetime behind it.
                guard let ip = words.last.flatMap({ IPAddress($0.prefix { $0 != "/" }) }) else { continue }
                if medium.isEmpty { session = ip } else { addresses[medium] = ip }
            case UInt8(ascii: "m"):
                guard words.count > 1, let port = UInt16(words[1].prefix { $0 != "/" }) else { continue }
                medium = words[0]
                if ports[medium] == nil { ports[medium] = port }
            case UInt8(ascii: "a"):
                guard medium == "audio", text.hasPrefix("rtpmap:"), words.count > 1,
                    words[1].lowercased().hasPrefix("telephone-event/8000")
                else { continue }
                keys = UInt8(words[0].dropFirst(7)).flatMap { $0 < 128 ? $0 : nil } ?? keys
            default: continue
            }
        }
        guard !ports.isEmpty else { return nil }
        func address(_ name: Substring) -> SocketAddress? {
            guard let port = ports[name], port > 0, let ip = addresses[name] ?? session else { return nil }
            return SocketAddress(ip: ip, port: port)
        }
        audio = address("audio")
        video = address("video")
        image = address("image")
    }
}
