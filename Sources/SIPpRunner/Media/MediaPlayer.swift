// What a call sends over RTP, packet by packet: a capture as it is, keys, a file, a pattern.

import Basics
import RTP

/// One thing that plays: asked for a packet when it is due.
protocol MediaPlayer: AnyObject {
    /// Writes the packet that is due and tells its length, 0 when there is none this time, and when the next one is due after `now`;
    /// nil when there is no next one.
    func next(into output: UnsafeMutableRawBufferPointer, at now: Instant) -> (length: Int, next: Instant?)
}

final class CapturePlayer: MediaPlayer {
    private let packets: [CaptureFile.Packet]
    private let start: Instant
    private var place = 0

    init(_ file: CaptureFile, start: Instant) {
        packets = file.packets
        self.start = start
    }

    func next(into output: UnsafeMutableRawBufferPointer, at now: Instant) -> (length: Int, next: Instant?) {
        let payload = packets[place].payload.prefix(output.count)
        output.copyBytes(from: payload)
        place += 1
        return (payload.count, place < packets.count ? start + packets[place].time : nil)
    }
}

/// The stream of a medium of a call: what plays one after the other has one source and goes on counting.
final class MediaSource {
    var rtp = RTPSender(
        ssrc: .random(in: .min ... .max), sequence: .random(in: .min ... .max), timestamp: .random(in: .min ... .max))
}

/// Keys by RFC 4733, one after the other, in packets of 20 ms.
final class KeySequence {
    private let sender: TelephoneEventSender
    private var codes: [UInt8]
    private let duration: UInt32
    private let payloadType: UInt8
    /// In Hz.
    let clock: UInt32
    var unitsPerTick: UInt32 { sender.unitsPerTick }

    /// `digits`: 0-9 * # A-D; `milliseconds`: how long each is pressed; `clock`: 8000 to 48,000 Hz.
    init?(digits: String, milliseconds: Int, payloadType: UInt8, clock: UInt32) {
        guard 8000...48_000 ~= clock else { return nil }
        self.clock = clock
        sender = TelephoneEventSender(unitsPerTick: clock / 50)
        codes = []
        for digit in digits.uppercased() {
            guard let code = Keys.all.firstIndex(of: digit) else { return nil }
            codes.append(UInt8(code))
        }
        guard !codes.isEmpty else { return nil }
        codes.reverse()
        duration = UInt32(milliseconds) * clock / 1000
        self.payloadType = payloadType
    }

    /// All keys have been told.
    var isOver: Bool { sender.isIdle && codes.isEmpty }

    /// Writes the packet of this tick and tells its length; 0 between keys.
    func write(_ source: MediaSource, to output: UnsafeMutableRawBufferPointer) -> Int {
        if sender.isIdle, let code = codes.popLast() { sender.start(code: code, duration: duration, gap: clock / 10) }
        guard let packet = sender.next(timestamp: source.rtp.timestamp) else { return 0 }
        let size = TelephoneEventPayload.size
        let header = source.rtp.header(payloadType: payloadType, marker: packet.marker, timestamp: packet.timestamp, octets: size)
        header.write(to: output)
        packet.payload.write(to: UnsafeMutableRawBufferPointer(rebasing: output[RTPHeader.size...]))
        return RTPHeader.size + size
    }
}

/// The keys of a telephone by their codes (RFC 4733 section 3.2).
enum Keys {
    static let all = Array("0123456789*#ABCD")
}

/// Keys where nothing else plays.
final class KeyPlayer: MediaPlayer {
    private let keys: KeySequence
    private let source: MediaSource
    private var due: Instant

    init(_ keys: KeySequence, _ source: MediaSource, start: Instant) {
        self.keys = keys
        self.source = source
        due = start
    }

    func next(into output: UnsafeMutableRawBufferPointer, at now: Instant) -> (length: Int, next: Instant?) {
        guard !keys.isOver else { return (0, nil) }
        let length = keys.write(source, to: output)
        source.rtp.advance(by: keys.unitsPerTick)
        due = due + .milliseconds(20)
        return (length, due)
    }
}

/// A file or a pattern, in even packets; it may be paused.
final class StreamPlayer: MediaPlayer {
    private let payloads: StreamPayloads
    private let format: StreamFormat
    private let payloadType: UInt8
    /// -1 for ever.
    private var loops: Int
    private let source: MediaSource
    private var place = 0
    private var due: Instant
    /// Keys that are pressed meanwhile: no audio is sent with them.
    var keys: KeySequence?
    private(set) var isOver = false
    var isPaused = false
    /// What comes back is compared with it.
    let isPattern: Bool

    init(
        _ payloads: StreamPayloads, _ format: StreamFormat, payloadType: UInt8, loops: Int, source: MediaSource, start: Instant,
        isPattern: Bool = false
    ) {
        self.source = source
        self.isPattern = isPattern
        self.payloads = payloads
        self.format = format
        self.payloadType = payloadType
        self.loops = loops
        due = start
    }

    /// Of its timestamps, in Hz.
    var clock: UInt32 { format.clock }

    /// Keys go out with it: its packets are those of keys.
    func takes(_ keys: KeySequence) -> Bool {
        !isOver && format.packetTime == .milliseconds(20) && format.ticks == keys.unitsPerTick
    }

    func next(into output: UnsafeMutableRawBufferPointer, at now: Instant) -> (length: Int, next: Instant?) {
        defer { source.rtp.advance(by: format.ticks) }
        due = due + format.packetTime
        // What came late is not made up for: the clock goes on from now.
        if due <= now { due = now + format.packetTime }
        if let keys {
            if !keys.isOver { return (keys.write(source, to: output), due) }
            self.keys = nil
        }
        guard !isPaused else { return (0, due) }
        if place == payloads.count {
            if loops > 0 { loops -= 1 }
            guard loops != 0 else {
                isOver = true
                return (0, nil)
            }
            place = 0
        }
        let room = UnsafeMutableRawBufferPointer(rebasing: output[RTPHeader.size...])
        let count = payloads.copy(place, to: room)
        place += 1
        guard count > 0 else { return (0, due) }
        source.rtp.audio(payloadType: payloadType, octets: count).write(to: output)
        return (RTPHeader.size + count, due)
    }
}
