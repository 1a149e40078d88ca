// What passed in one call, as rows: gathered while it goes on, shown as text or as a picture.

package import Basics
import SIP

package struct CallLadder: Sendable {
    package struct Row: Sendable {
        package enum Kind: Sendable {
            case request
            case response(status: Int)
            /// A stream of RTP, from its first packet on.
            case media
            /// Words about the trace itself.
            case note
        }

        package var kind: Kind
        package var at: Instant
        /// Places in `names`.
        package var from: Int
        package var to: Int
        package var label: String
        /// What a picture shows besides.
        package var detail = ""
    }

    package private(set) var rows: [Row] = []
    package let start: Instant
    private let direction: CallInfo.Direction
    private var local: SocketAddress?
    /// By address alone: a stream's port is another one each time.
    private var remotes: [SocketAddress] = []
    private var streams: [StreamKey: (row: Int, packets: Int, last: Instant)] = [:]
    /// Of dynamic payload types, from the descriptions that passed.
    private var payloadNames: [UInt8: String] = [:]

    /// Rows and streams that are kept: a flood has more.
    private static let mostRows = 2000
    private static let mostStreams = 64

    private struct StreamKey: Hashable {
        let direction: Bool
        let remote: SocketAddress
        let port: UInt16
        let source: UInt32
        let payloadType: UInt8
    }

    package init(direction: CallInfo.Direction, start: Instant) {
        self.direction = direction
        self.start = start
    }

    // MARK: What passes

    /// A message that was not masked, or need not be.
    package mutating func add(_ message: TracedMessage) {
        add(
            TraceBlock.Record(
                kind: .message, direction: message.direction, transport: message.transport, at: message.at, local: message.local,
                remote: message.remote, length: message.bytes.count), message.bytes)
    }

    mutating func add(_ record: TraceBlock.Record, _ octets: [UInt8]) {
        switch record.kind {
        case .message: addMessage(record, octets)
        case .media: addMedia(record, octets)
        }
    }

    private mutating func addMessage(_ record: TraceBlock.Record, _ octets: [UInt8]) {
        guard rows.count < Self.mostRows else { return }
        if local == nil { local = record.local }
        let message = try? Message(parsing: octets)
        var row = row(message?.isRequest == false ? .response(status: message?.status ?? 0) : .request, record)
        row.label = Ladder.label(of: octets)
        if let message {
            row.detail = "\(message.header(.cSeq) ?? "")"
            if let description = message.sessionDescription {
                row.label += " (SDP)"
                row.detail += ", \(noteDescription(description))"
            }
        }
        row.detail += ", \(record.transport.name), \(octets.count) octets"
        rows.append(row)
    }

    private mutating func addMedia(_ record: TraceBlock.Record, _ octets: [UInt8]) {
        // RTP of version 2 that is no RTCP (RFC 5761 section 4).
        guard octets.count >= 12, octets[0] >> 6 == 2, !(64...95).contains(octets[1] & 0x7F) else { return }
        let source = octets[8..<12].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        let key = StreamKey(
            direction: record.direction == .sent, remote: record.remote, port: record.local.port, source: source,
            payloadType: octets[1] & 0x7F)
        if let known = streams[key] {
            streams[key] = (known.row, known.packets + 1, record.at)
            return
        }
        guard streams.count < Self.mostStreams, rows.count < Self.mostRows else { return }
        var row = row(.media, record)
        row.detail = "\(record.local) and \(record.remote), SSRC \(String(source, radix: 16))"
        streams[key] = (rows.count, 1, record.at)
        rows.append(row)
    }

    private mutating func row(_ kind: Row.Kind, _ record: TraceBlock.Record) -> Row {
        let remote: Int
        if let known = remotes.firstIndex(where: { $0.ip == record.remote.ip }) {
            remote = known
        } else {
            remote = remotes.count
            remotes.append(record.remote)
        }
        let there = column(ofRemote: remote)
        let isSent = record.direction == .sent
        return Row(kind: kind, at: record.at, from: isSent ? here : there, to: isSent ? there : here, label: "")
    }

    /// Who calls is on the left.
    private var here: Int { direction == .inbound ? 1 : 0 }
    private func column(ofRemote index: Int) -> Int { index == 0 ? 1 - here : index + 1 }

    /// Learns the names of payload types; the audio in few words.
    private mutating func noteDescription(_ body: ArraySlice<UInt8>) -> String {
        var audio = ""
        for line in body.split(whereSeparator: { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
            let text = String(decoding: line, as: UTF8.self)
            if text.hasPrefix("m=audio ") { audio = String(text.dropFirst(2)) }
            guard text.hasPrefix("a=rtpmap:") else { continue }
            let words = text.dropFirst(9).split(separator: " ")
            if words.count == 2, let number = UInt8(words[0]), number < 128 { payloadNames[number] = String(words[1]) }
        }
        return audio
    }

    /// Words below everything.
    package mutating func note(_ words: String) {
        rows.append(Row(kind: .note, at: rows.last?.at ?? start, from: here, to: here, label: words))
    }

    // MARK: What is shown

    /// From left to right.
    package var names: [String] {
        let end = local.map { "ringwright \($0)" } ?? "ringwright"
        let first = remotes.first.map { "\($0)" } ?? "?"
        return (direction == .inbound ? [first, end] : [end, first]) + remotes.dropFirst().map { "\($0)" }
    }

    /// The rows with what is known of their streams by now.
    package var shown: [Row] {
        var result = rows
        for (key, stream) in streams {
            let name = payloadNames[key.payloadType] ?? Self.fixedNames[key.payloadType] ?? "payload \(key.payloadType)"
            result[stream.row].label =
                "RTP \(name): \(stream.packets) packets until \(Ladder.time(stream.last, since: start))"
        }
        // Packets are told with the time at which the kernel had them.
        return result.sorted { $0.at < $1.at }
    }

    /// Payload types that need no rtpmap (RFC 3551 section 6).
    private static let fixedNames: [UInt8: String] = [0: "PCMU", 3: "GSM", 8: "PCMA", 9: "G722", 13: "CN", 18: "G729"]

    package var text: String {
        let ladder = Ladder(names, start: start)
        let lines = shown.map { row in
            row.from == row.to
                ? ladder.note(row.label, on: row.from, at: row.at)
                : ladder.message(row.label, from: row.from, to: row.to, at: row.at)
        }
        return ([ladder.heading] + lines).joined(separator: "\n") + "\n"
    }
}
