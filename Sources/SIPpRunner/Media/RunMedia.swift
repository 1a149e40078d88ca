// The media of a run: sockets by port, the echo of -rtp_echo, and what all of it came to.

import Basics
import Dialer
import Reactor
import SIP

final class RunMedia {
    unowned let run: ScenarioRun
    let loop: EventLoop
    /// Where packets are put together.
    let packet = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 8)
    /// The payload type of keys that nobody named: SIPp's.
    static let standardKeys: UInt8 = 96
    /// The clock of all that nobody described, in Hz.
    static let standardClock: UInt32 = 8000
    /// Where packets are decrypted.
    let opened = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 8)

    /// A socket, who hears by it, and how many calls use it.
    private final class Port {
        let socket: DatagramSocket
        var calls = 0
        var bySource: [SocketAddress: CallMedia] = [:]
        unowned var last: CallMedia?

        init(_ socket: DatagramSocket) { self.socket = socket }
    }

    private var ports: [Int: Port] = [:]
    private var echoPorts: Set<Int> = []
    var captures: [String: CaptureFile] = [:]
    var payloads: [String: StreamPayloads] = [:]
    private var freePairs: [Int] = []
    private var nextPair: Int
    private var pairs: [Int: (audio: Int, video: Int)] = [:]
    /// The scenario plays something, or what comes is asked for.
    let isNeeded: Bool

    /// The global echo, which the action `rtp_echo` stops and resumes.
    var isEchoing = true
    private(set) var echoed = 0
    /// A check of returned RTP failed.
    private(set) var checkFailed = false

    // Of calls that are over
    private var calls = 0
    private var sent = 0
    private var received: UInt64 = 0
    private var lost: UInt64 = 0
    private var oneWay = 0
    private var jitters = Histogram()
    /// In thousandths.
    private var scores = Histogram()
    private var digits: [String: Int] = [:]
    /// Calls by the suite of SRTP.
    private var suites: [String: Int] = [:]
    private var unauthentic = 0

    init(run: ScenarioRun) {
        self.run = run
        loop = run.loop
        nextPair = run.options.mediaPort
        isNeeded = run.options.json != nil || run.scenario.digits != nil || run.scenario.steps.contains { $0.playsMedia }
    }

    deinit {
        packet.deallocate()
        opened.deallocate()
    }

    func warn(_ text: String) { run.warn(text) }

    var standardPort: Int { run.options.mediaPort }

    /// Sends back what comes to the media port and to the port two above.
    func openEcho() throws(RunFailure) {
        for offset in [0, 2] {
            let port = run.options.mediaPort + offset
            echoPorts.insert(port)
            if let problem = open(port) { throw .bind("-rtp_echo: \(problem)") }
        }
    }

    // MARK: Sockets

    private func open(_ port: Int) -> SystemError? {
        guard ports[port] == nil else { return nil }
        var options = DatagramOptions()
        options.stampsArrival = true
        do throws(SystemError) {
            let socket = try loop.bindDatagram(
                to: SocketAddress(ip: run.addresses.media, port: UInt16(clamping: port)), options: options)
            let entry = Port(socket)
            ports[port] = entry
            socket.onReceive = { [unowned self, unowned entry] octets, source in
                received(octets, source, entry, isEcho: echoPorts.contains(port))
            }
            return nil
        } catch {
            return error
        }
    }

    private func received(_ octets: UnsafeRawBufferPointer, _ source: SocketAddress, _ entry: Port, isEcho: Bool) {
        if isEcho, isEchoing {
            echoed += 1
            entry.socket.send(octets, to: source)
        }
        let media = entry.bySource[source] ?? (entry.calls == 1 ? entry.last : nil)
        media?.receive(octets, from: source, at: entry.socket.arrival, on: entry.socket)
    }

    func socket(_ port: Int) -> DatagramSocket? { ports[port]?.socket }

    /// The socket of a port, opened when it is not there; nil when it cannot be.
    func socket(_ port: Int, for media: CallMedia, isNew: Bool) -> DatagramSocket? {
        if let problem = open(port) {
            run.warn("media: \(problem)")
            return nil
        }
        guard let entry = ports[port] else { return nil }
        if isNew {
            entry.calls += 1
            entry.last = media
        }
        return entry.socket
    }

    /// What comes from there to a port is a call's.
    func note(_ remote: SocketAddress, on port: Int, _ media: CallMedia) { ports[port]?.bySource[remote] = media }

    /// A pair of ports that no other call has (`[rtpstream_audio_port]`), the next one with each call.
    func streamPort(of call: ScenarioCall, isVideo: Bool) -> Int {
        if let pair = pairs[call.number] { return isVideo ? pair.video : pair.audio }
        let first = freePairs.popLast() ?? nextPair
        if first == nextPair { nextPair = nextPair + 4 > 65_000 ? run.options.mediaPort : nextPair + 4 }
        pairs[call.number] = (first, first + 2)
        return isVideo ? first + 2 : first
    }

    // MARK: Calls

    func media(of call: ScenarioCall) -> CallMedia {
        if let media = call.media as? CallMedia { return media }
        let media = CallMedia(self, call)
        call.media = media
        return media
    }

    /// A message of the far end, which may describe its media.
    func heard(_ message: Message, of call: ScenarioCall) {
        let look = message.body.isEmpty ? nil : MediaLook(message.body)
        guard look != nil || call.media != nil else { return }
        let media = media(of: call)
        if let look { media.described(look, isOwn: false) }
        media.listen()
    }

    /// A message of ours, which may describe our media.
    func said(_ message: UnsafeRawBufferPointer, of call: ScenarioCall) {
        guard let look = MediaLook(message[ScenarioCall.bodyStart(message)...]) else { return }
        media(of: call).described(look, isOwn: true)
    }

    /// The call is over: what it heard is added up, and its ports are free.
    func release(_ call: ScenarioCall) {
        if let pair = pairs.removeValue(forKey: call.number) { freePairs.insert(pair.audio, at: 0) }
        guard let media = call.media as? CallMedia else { return }
        media.close()
        call.media = nil
        add(media)
        for port in media.ports {
            guard let entry = ports[port] else { continue }
            entry.calls -= 1
            entry.bySource = entry.bySource.filter { $0.value !== media }
            if entry.last === media { entry.last = entry.bySource.values.first }
            guard entry.calls == 0, port != run.options.mediaPort, !echoPorts.contains(port) else { continue }
            entry.socket.close()
            ports[port] = nil
        }
    }

    private func add(_ media: CallMedia) {
        calls += 1
        sent += media.sent
        received += media.received
        lost += media.lost
        if media.sent > 0, media.received == 0 { oneWay += 1 }
        if media.received > 0 { jitters.record(media.jitter.nanoseconds / 1000) }
        if let score = media.score { scores.record(Int64(score * 1000)) }
        if !media.digits.isEmpty, digits.count < 100 || digits[media.digits] != nil { digits[media.digits, default: 0] += 1 }
        unauthentic += media.unauthentic
        for suite in media.suites { suites[suite, default: 0] += 1 }
        for (medium, pattern) in media.patterns { check(pattern, medium) }
    }

    /// SIPp's check of what comes back: total loss always fails it, a share of loss by -audiotolerance and -videotolerance.
    private func check(_ pattern: CallMedia.Pattern, _ medium: Action.Medium) {
        let tolerance = medium == .video ? run.options.videoTolerance : run.options.audioTolerance
        let missing = pattern.sent - min(pattern.sent, pattern.returned)
        guard pattern.sent > 0, missing == pattern.sent || Double(missing) > tolerance * Double(pattern.sent) else { return }
        checkFailed = true
        run.warn("RTP check: \(missing) of \(pattern.sent) packets of the pattern on \(medium) did not come back")
    }

    func close() {
        for entry in ports.values { entry.socket.close() }
        ports = [:]
    }

    // MARK: Results

    var summaryLines: [String] {
        var lines: [String] = []
        if echoed > 0 { lines.append("  RTP packets sent back: \(echoed)") }
        if sent > 0 || received > 0 {
            lines.append("  RTP: \(sent) sent, \(received) received, \(lost) lost, \(oneWay) calls one way")
        }
        if scores.count > 0 {
            lines.append(
                "  MOS: p5 \(Decimal6.short(score(0.05))), p50 \(Decimal6.short(score(0.5)))   jitter p99: \(Decimal6.short(Double(jitters.quantile(0.99)) / 1000)) ms"
            )
        }
        for (suite, count) in suites.sorted(by: { $0.key < $1.key }) { lines.append("  SRTP \(suite): \(count) calls") }
        if unauthentic > 0 { lines.append("  SRTP packets of a wrong key: \(unauthentic)") }
        for (digits, count) in digits.sorted(by: { $0.key < $1.key }) { lines.append("  Digits \(digits): \(count)") }
        return lines
    }

    private func score(_ share: Double) -> Double { Double(scores.quantile(share)) / 1000 }

    var description: JSONText {
        func quality(_ share: Double) -> JSONText { scores.count == 0 ? .null : .number(score(share), digits: 2) }
        func jitter(_ share: Double) -> JSONText { .number(Double(jitters.quantile(share)) / 1000, digits: 3) }
        func counted(_ counts: [String: Int]) -> JSONText {
            .object(counts.sorted { $0.key < $1.key }.map { (name: $0.key, value: .count($0.value)) })
        }
        return .object([
            ("echoed", .count(echoed)), ("calls", .count(calls)), ("sent", .count(sent)), ("received", .count(received)),
            ("lost", .count(lost)), ("one_way", .count(oneWay)),
            ("jitter_ms", .object([("p50", jitter(0.5)), ("p99", jitter(0.99))])),
            ("mos", .object([("p5", quality(0.05)), ("p50", quality(0.5))])),
            ("srtp", counted(suites)), ("unauthentic", .count(unauthentic)), ("digits", counted(digits))
        ])
    }
}
