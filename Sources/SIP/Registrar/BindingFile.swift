// The bindings as a text file, so that phones stay reachable over a restart. docs/registrar.md has the format:
//
//   ringwright-bindings 1 KEY
//   USER CONTACT EXPIRY Q CALL-ID CSEQ SOURCE INSTANCE REG-ID PATH EPOCH
//
// one binding a line, the fields apart by tabs, each with %HH for what is no printable sign and for "%". EXPIRY is in seconds since 1970; KEY and
// EPOCH are those of temporary GRUUs.
// A line that cannot be read is left out and counted.

package import Basics

package enum BindingFile {
    private static let head = "ringwright-bindings 1"

    /// - Parameters:
    ///   - key: of the temporary GRUUs.
    ///   - wall: seconds since 1970 at `now`.
    package static func text(of table: BindingTable, key: [UInt8], at now: Instant, wall: Double) -> [UInt8] {
        var result = Array("\(head) ".utf8) + key + [Octet.lf]
        for bucket in table.buckets {
            for (user, bindings) in bucket {
                for binding in bindings where binding.expires > now {
                    append(binding, of: user, expiry: wall + (binding.expires - now).seconds, to: &result)
                }
            }
        }
        return result
    }

    private static func append(_ binding: Binding, of user: String, expiry: Double, to result: inout [UInt8]) {
        let source = "\(binding.source.transport.name):\(binding.source.address)"
        let fields: [[UInt8]] = [
            Array(user.utf8), binding.contact, Array("\(Int(expiry.rounded()))".utf8), Array("\(binding.q)".utf8), binding.callID,
            Array("\(binding.cSeq)".utf8), Array(source.utf8), binding.instance, Array("\(binding.regID)".utf8), binding.path,
            Array("\(binding.epoch)".utf8)
        ]
        for (index, field) in fields.enumerated() {
            if index > 0 { result.append(Octet.tab) }
            for octet in field {
                if octet > 32, octet < 127, octet != Octet.percent {
                    result.append(octet)
                } else {
                    result.append(Octet.percent)
                    result += hexadecimal(UInt64(octet)).suffix(2)
                }
            }
        }
        result.append(Octet.lf)
    }

    /// Reads a file; what has run out since is left out. No binding lasts longer than `longest` seconds, whatever the clock did meanwhile.
    /// - Returns: the table, the key of its temporary GRUUs, and how many lines could not be read; nil when this is no such file.
    package static func read(
        _ content: [UInt8], at now: Instant, wall: Double, longest: Int
    ) -> (table: BindingTable, key: [UInt8], unreadable: Int)? {
        let lines = content.split(separator: Octet.lf)
        guard let first = lines.first, first.starts(with: "\(head) ".utf8) else { return nil }
        let key = Array(first.dropFirst(head.utf8.count + 1))
        guard key.count == 64, key.allSatisfy({ Octet.isDigit($0) || (97...102).contains($0) }) else { return nil }
        var table = BindingTable()
        var unreadable = 0
        for line in lines.dropFirst() {
            guard let (user, binding, seconds) = read(line, at: now, wall: wall, longest: longest) else {
                unreadable += 1
                continue
            }
            guard seconds > 0 else { continue }
            table.set(table.bindings(of: user, at: now) + [binding], of: user)
        }
        return (table, key, unreadable)
    }

    private static func read(
        _ line: ArraySlice<UInt8>, at now: Instant, wall: Double, longest: Int
    ) -> (user: String, binding: Binding, seconds: Double)? {
        let fields = line.split(separator: Octet.tab, omittingEmptySubsequences: false).map { unescaped($0) }
        guard fields.count == 11, !fields[0].isEmpty, let expiry = Double(SIP.text(fields[2])), let q = Int(SIP.text(fields[3])),
            let cSeq = UInt32(SIP.text(fields[5])), let source = hop(SIP.text(fields[6])), let regID = Int(SIP.text(fields[8])),
            let epoch = UInt64(SIP.text(fields[10])),
            (try? URI(fields[1], OctetRange(0, fields[1].count)))?.isSIP == true
        else { return nil }
        let seconds = expiry - wall
        var binding = Binding(
            contact: fields[1], expires: now + .milliseconds(Int64(max(0, min(seconds, Double(longest))) * 1000)), q: q,
            callID: fields[4],
            cSeq: cSeq, source: source)
        binding.instance = fields[7]
        binding.regID = regID
        binding.path = fields[9]
        binding.epoch = epoch
        return (SIP.text(fields[0]), binding, seconds)
    }

    /// `UDP:192.0.2.1:5060`. The number of a connection means nothing after a restart.
    private static func hop(_ text: String) -> Hop? {
        guard let colon = text.firstIndex(of: ":"), let address = SocketAddress(String(text[text.index(after: colon)...])) else {
            return nil
        }
        let name = text[..<colon]
        guard let transport = [Transport.udp, .tcp, .tls, .ws, .wss].first(where: { "\($0.name)" == name }) else { return nil }
        return Hop(transport: transport, address: address)
    }
}
