// A DNS server of a few lines on the loopback, for NAPTR, SRV, A and AAAA of a zone that the test writes (RFC 1035, 2782, 3403).

import Basics
import Reactor

final class TinyDNSServer: Sendable {
    /// By question; a name that is not there does not exist.
    typealias Zone = [NameQuery: NameRecords]

    let address: SocketAddress
    private let loop: EpollLoop
    private let asked = Locked<[NameQuery]>([])
    private let socket: LoopBound<DatagramSocket>

    /// - Parameter isSilent: it takes questions and answers none.
    init(_ zone: Zone, isSilent: Bool = false) throws {
        let loop = try EpollLoop(name: "dns")
        try loop.start()
        self.loop = loop
        let asked = self.asked
        socket = try loop.runAndWait { () throws -> LoopBound<DatagramSocket> in
            let socket = try loop.bindDatagram(to: SocketAddress(ip: .loopback4, port: 0))
            socket.onReceive = { [unowned socket] bytes, source in
                guard let (query, reply) = Self.answer([UInt8](bytes), zone) else { return }
                asked.withLock { $0.append(query) }
                if !isSilent { reply.withUnsafeBytes { socket.send($0, to: source) } }
            }
            return LoopBound(socket, on: loop)
        }
        address = socket.runAndWait { $0.localAddress }
    }

    var questions: [NameQuery] { asked.withLock { $0 } }

    func stop() {
        socket.runAndWait { $0.close() }
        loop.stop()
    }

    /// The question and the whole reply.
    private static func answer(_ request: [UInt8], _ zone: Zone) -> (NameQuery, [UInt8])? {
        guard request.count > 16 else { return nil }
        var at = 12
        var labels: [String] = []
        while at < request.count, request[at] > 0 {
            let end = at + 1 + Int(request[at])
            guard end < request.count else { return nil }
            labels.append(String(decoding: request[(at + 1)..<end], as: UTF8.self).lowercased())
            at = end
        }
        guard at + 5 <= request.count else { return nil }
        let type = Int(request[at + 1]) << 8 | Int(request[at + 2])
        let name = labels.joined(separator: ".")
        let question = request[12..<(at + 5)]
        let query: NameQuery = type == 35 ? .naptr(name) : type == 33 ? .srv(name) : .addresses(name)
        let records = zone[query]
        let exists = records != nil || zone.keys.contains { [.naptr(name), .srv(name), .addresses(name)].contains($0) }
        var datas: [[UInt8]] = []
        switch type {
        case 35: datas = (records?.naptr ?? []).map(data)
        case 33: datas = (records?.srv ?? []).map(data)
        case 1, 28: datas = (records?.addresses ?? []).filter { $0.isV6 == (type == 28) }.map(data)
        default: break
        }
        var reply = Array(request[0..<2])
        reply += [0x84, exists ? 0x80 : 0x83, 0, 1] + pair(datas.count) + [0, 0, 0, 0] + question
        for data in datas {
            reply += [0xc0, 12] + pair(type) + [0, 1, 0, 0] + pair(records?.lifetime ?? 60) + pair(data.count) + data
        }
        return (query, reply)
    }

    private static func pair(_ number: Int) -> [UInt8] { [UInt8(number >> 8 & 255), UInt8(number & 255)] }

    private static func name(_ text: String) -> [UInt8] {
        text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
    }

    private static func string(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

    private static func data(_ record: NAPTRRecord) -> [UInt8] {
        pair(Int(record.order)) + pair(Int(record.preference)) + string(record.flags) + string(record.service) + string("")
            + name(record.replacement)
    }

    private static func data(_ record: SRVRecord) -> [UInt8] {
        pair(Int(record.priority)) + pair(Int(record.weight)) + pair(Int(record.port)) + name(record.target)
    }

    private static func data(_ ip: IPAddress) -> [UInt8] {
        switch ip {
        case .v4(let value): return (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - $0 * 8)) }
        case .v6(let high, let low):
            return [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - $0 * 8)) } }
        }
    }
}
