// What is written of one call, in a folder `TIME-CALL` of its own:
//
//   call.pcap      its messages and media (PacketCapture.swift), messages of TLS and WebSockets decoded, as datagrams
//   messages.txt   its messages as text
//   ladder.txt     what passed between whom, a line each; when the call is over
//   ladder.svg     the same as a picture
//
// Secrets are masked before anything is written (MessageMask.swift). It blocks: on the writer's thread.

import Basics
import Reactor
import SIP

struct TraceFiles {
    /// What became of a piece of work.
    struct Outcome {
        /// Records that found no room.
        var omitted = 0
        /// The files cannot be written; once.
        var failure: TraceEvent?
    }

    private let call: TracedCall
    private let settings: TraceSettings
    private let start: Instant
    /// Nanoseconds since 1970 at `start`.
    private let wall: Int64
    private let folder: String
    private var capture: OutputFile?
    private var text: OutputFile?
    private var hasFailed = false
    private var packets = PacketCapture()
    private var ladder: CallLadder
    private var omitted = 0
    private var rowsAtLadder = -1

    /// Room for messages beyond `TraceSettings.size`: how a call ended is worth more than its media.
    private static let extra = 1 << 20

    init(_ call: TracedCall, settings: TraceSettings, start: Instant, wall: Double) {
        self.call = call
        self.settings = settings
        self.start = start
        self.wall = Int64(wall * 1e6) * 1000
        folder = "\(settings.folder)/\(Self.name(call.id, at: Int(wall)))"
        ladder = CallLadder(direction: call.direction, start: start)
    }

    /// `20260102T030405Z-4f0c…`: sorted by name is sorted by time.
    static func name(_ id: String, at seconds: Int) -> String {
        let day = CivilDate(daysSince1970: seconds / 86_400)
        let second = seconds % 86_400
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return
            "\(day.year)\(two(day.month))\(two(day.day))T\(two(second / 3600))\(two(second / 60 % 60))\(two(second % 60))Z-\(id)"
    }

    /// Whether a folder has been made by this.
    static func isName(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 16, !parts[1].isEmpty else { return false }
        return parts[0].enumerated().allSatisfy { index, octet in
            index == 8 ? octet == UInt8(ascii: "T") : index == 15 ? octet == UInt8(ascii: "Z") : (48...57).contains(octet)
        }
    }

    /// Removes the oldest folders of those that are too many. One that does not go keeps none of the others.
    static func makeRoom(in settings: TraceSettings) throws(SystemError) {
        let names = try Folder.names(in: settings.folder).filter(isName)
        var failure: SystemError?
        for name in names.sorted().prefix(max(0, names.count - settings.kept)) {
            do throws(SystemError) {
                try Folder.remove("\(settings.folder)/\(name)")
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    // MARK: Pieces of work

    mutating func write(_ block: TraceBlock) -> Outcome {
        var outcome = Outcome()
        var records: [UInt8] = []
        var lines: [UInt8] = []
        var position = 0
        for record in block.records {
            var octets = Array(block.bytes[position..<(position + record.length)])
            position += record.length
            let limit = settings.size + (record.kind == .message ? Self.extra : 0)
            guard (capture?.size ?? 0) + records.count + octets.count <= limit else {
                outcome.omitted += 1
                continue
            }
            if record.kind == .message {
                MessageMask.apply(to: &octets, hidesDigits: !settings.showsKeys)
                lines += described(record, octets)
            }
            ladder.add(record, octets)
            let isSent = record.direction == .sent
            records += packets.records(
                octets[...], from: isSent ? record.local : record.remote, to: isSent ? record.remote : record.local,
                over: record.transport == .tcp ? .stream : .datagram,
                time: (wall + (record.at - start).nanoseconds) / 1000)
        }
        omitted += outcome.omitted
        outcome.failure = attempt { files throws(SystemError) in
            try files.open()
            try files.capture?.append(records)
            if !lines.isEmpty { try files.text?.append(lines) }
        }
        return outcome
    }

    /// Writes both ladders, unless they are there already and nothing came since. `dropped`: records that never came here.
    mutating func writeLadder(dropped: Int) -> Outcome {
        guard ladder.rows.count + dropped + omitted != rowsAtLadder else { return Outcome() }
        rowsAtLadder = ladder.rows.count + dropped + omitted
        var shown = ladder
        if omitted > 0 { shown.note("\(omitted) packets or messages left out: the capture is full") }
        if dropped > 0 { shown.note("\(dropped) packets or messages are missing: the writer had too much to do") }
        let title = "\(call.direction.rawValue) call \(call.id)"
        return Outcome(
            failure: attempt { files throws(SystemError) in
                try files.open()
                try AtomicFile.write(Array(shown.text.utf8), to: "\(files.folder)/ladder.txt")
                try AtomicFile.write(Array(LadderPicture(shown, title: title).svg.utf8), to: "\(files.folder)/ladder.svg")
            })
    }

    /// Nothing more comes. What became of it, unless that was told.
    mutating func close() -> (settings: TraceSettings, event: TraceEvent?) {
        let isWritten = capture != nil && !hasFailed
        capture = nil
        text = nil
        return (settings, isWritten ? .written(call: call.id, folder: folder) : nil)
    }

    // MARK: Files

    /// A failure, the first time.
    private mutating func attempt(_ body: (inout TraceFiles) throws(SystemError) -> Void) -> TraceEvent? {
        guard !hasFailed else { return nil }
        do throws(SystemError) {
            try body(&self)
            return nil
        } catch {
            hasFailed = true
            return .failed(call: call.id, reason: "\(error)")
        }
    }

    private mutating func open() throws(SystemError) {
        guard capture == nil else { return }
        try Folder.make(folder)
        let made = try OutputFile("\(folder)/call.pcap")
        try made.append(PacketCapture.fileHeader)
        text = try OutputFile("\(folder)/messages.txt")
        capture = made
    }

    private func described(_ record: TraceBlock.Record, _ octets: [UInt8]) -> [UInt8] {
        let way = record.direction == .sent ? "to" : "from"
        let when = Ladder.time(record.at, since: start)
        let head = "--- \(when) \(way) \(record.remote) (here: \(record.local), \(record.transport.name))\n"
        return Array(head.utf8) + octets.filter { $0 != UInt8(ascii: "\r") } + [UInt8(ascii: "\n")]
    }
}
