// What the media tests share: two engines on one virtual network, and a peer that is nothing but sockets.

import Audio
import Basics
import CallEngine
import Foundation
import RTP
import Reactor
import SDP
import Testing

/// The loop, its network and two engines with an address each.
final class MediaWorld {
    static let leftIP = IPAddress("10.0.0.1")!
    static let rightIP = IPAddress("10.0.0.2")!
    static let peerIP = IPAddress("10.0.0.9")!

    let network: VirtualNetwork
    let loop: VirtualLoop
    let workers: MediaWorkers
    let left: MediaServices
    let right: MediaServices
    private var sessions: [MediaSession] = []
    private var ears: [MediaEars] = []

    init(seed: UInt64 = 1, ports: ClosedRange<UInt16> = 20000...20099, supply: (any PromptSupply)? = nil) {
        workers = .inline(supply: supply)
        network = VirtualNetwork(seed: seed)
        loop = VirtualLoop(network: network)
        left = MediaServices(loop: loop, ports: ports, bindTo: Self.leftIP, workers: workers, seed: seed)
        right = MediaServices(loop: loop, ports: ports, bindTo: Self.rightIP, workers: workers, seed: seed &+ 1)
    }

    func session(
        _ services: MediaServices, codecs: [String] = ["pcmu", "pcma"], _ change: (inout MediaSettings) -> Void = { _ in }
    ) throws(MediaError) -> MediaSession {
        var settings = MediaSettings(
            digits: DigitInbox(), localIP: services === left ? Self.leftIP : Self.rightIP, codecs: codecs)
        change(&settings)
        let session = try MediaSession(services: services, settings: settings)
        sessions.append(session)
        return session
    }

    func listen(to session: MediaSession, _ ears: MediaEars) {
        self.ears.append(ears)
        session.user = ears
    }

    /// Two sessions that agreed; the left one offered.
    func pair(
        codecs: [String] = ["pcmu", "pcma"], _ change: (inout MediaSettings) -> Void = { _ in }
    ) throws -> (left: MediaSession, right: MediaSession) {
        let one = try session(left, codecs: codecs, change)
        let other = try session(right, codecs: codecs, change)
        try Self.agree(one, other)
        return (one, other)
    }

    /// A session of the left side that has answered an offer and sends; and where it takes RTP.
    func answering(
        _ offer: ArraySlice<UInt8>, codecs: [String] = ["pcmu", "pcma"]
    ) throws(MediaError) -> (session: MediaSession, target: SocketAddress) {
        let session = try session(left, codecs: codecs)
        let target = rtpAddress(try session.answer(offer), ip: Self.leftIP)
        session.start()
        return (session, target)
    }

    static func agree(_ offerer: MediaSession, _ answerer: MediaSession) throws(MediaError) {
        let answer = try answerer.answer(offerer.makeOffer()[...])
        answerer.start()
        try offerer.receive(answer: answer[...])
    }

    /// The clock goes on also where nothing waits.
    func run(_ duration: Duration) {
        loop.schedule(after: duration) {}
        loop.run(for: duration)
    }

    /// Closes everything and checks that nothing is left.
    func end(sourceLocation: SourceLocation = #_sourceLocation) {
        for session in sessions { session.close() }
        loop.run(for: .seconds(1))
        #expect(left.counters.sessions == 0 && right.counters.sessions == 0, sourceLocation: sourceLocation)
        #expect(left.counters.ports.inUse == 0 && right.counters.ports.inUse == 0, sourceLocation: sourceLocation)
        left.close()
        right.close()
        #expect(loop.openSockets == 0, sourceLocation: sourceLocation)
        #expect(loop.liveTasks == 0, sourceLocation: sourceLocation)
        loop.run(for: .seconds(60))
        #expect(loop.pendingTimers == 0, sourceLocation: sourceLocation)
    }
}

/// A caller, the two legs of the right side, and a callee.
struct BridgedCall {
    let world: MediaWorld
    let caller: MediaSession
    let inner: MediaSession
    let outer: MediaSession
    let callee: MediaSession

    /// - Parameters:
    ///   - caller, callee: the codec of each; the legs between have both.
    ///   - change: of the callee, for its offer.
    init(
        seed: UInt64, _ caller: String, _ callee: String, security: MediaSecurity = .accepted, isConnected: Bool = true,
        _ change: (inout MediaSettings) -> Void = { _ in }
    ) throws {
        world = MediaWorld(seed: seed)
        self.caller = try world.session(world.left, codecs: [caller]) { $0.security = security }
        let both = caller == callee ? [caller] : [caller, callee]
        inner = try world.session(world.right, codecs: both)
        outer = try world.session(world.right, codecs: both)
        self.callee = try world.session(world.left, codecs: [callee], change)
        try MediaWorld.agree(self.caller, inner)
        try MediaWorld.agree(self.callee, outer)
        if isConnected { inner.connect(to: outer) }
    }
}

/// Hears what a session tells.
final class MediaEars: MediaUser {
    var onTimeout: () -> Void
    var onFirstPacket: () -> Void

    var onMeasured: () -> Void

    init(onTimeout: @escaping () -> Void = {}, onFirstPacket: @escaping () -> Void = {}, onMeasured: @escaping () -> Void = {}) {
        self.onMeasured = onMeasured
        self.onTimeout = onTimeout
        self.onFirstPacket = onFirstPacket
    }

    func mediaTimedOut() { onTimeout() }
    func firstMediaArrived() { onFirstPacket() }
    func mediaMeasured() { onMeasured() }
}

/// A prompt of the repository.
func prompt(_ name: String) -> String {
    let parts = #filePath.split(separator: "/").dropLast(4)
    return "/" + parts.joined(separator: "/") + "/prompts/" + name
}

/// A path in the folder for temporary files, its own for each test. scripts/test takes the folder away at the end.
func temporaryFile(_ name: String) -> String {
    FileManager.default.temporaryDirectory.appending(path: "ringwright-media-\(UUID().uuidString)-\(name)").path
}

/// A peer on the virtual network: it keeps what it gets, and sends what it is told to.
final class RawPeer {
    struct Packet {
        var at: Instant
        var marker: Bool
        var payloadType: UInt8
        var sequence: UInt16
        var timestamp: UInt32
        var ssrc: UInt32
        var payload: [UInt8]
        var isSilence: Bool { payload.allSatisfy { $0 == 0xFF || $0 == 0xD5 } }
    }

    let loop: EventLoop
    let socket: DatagramSocket
    private(set) var packets: [Packet] = []
    var sender = RTPSender(ssrc: 0xCAFE, sequence: 1000, timestamp: 50_000)

    init(_ loop: EventLoop, ip: IPAddress = MediaWorld.peerIP, port: UInt16 = 4000) throws {
        self.loop = loop
        socket = try loop.bindDatagram(to: SocketAddress(ip: ip, port: port))
        socket.onReceive = { [unowned self] bytes, _ in
            guard let packet = RTPPacket(bytes) else { return }
            packets.append(
                Packet(
                    at: loop.now, marker: packet.marker, payloadType: packet.payloadType, sequence: packet.sequence,
                    timestamp: packet.timestamp, ssrc: packet.ssrc, payload: Array(packet.payload)))
        }
    }

    func forget() { packets = [] }

    /// A description of this peer; telephone-event is 101.
    func description(
        formats: String = "0 8 101", events: Bool = true, direction: String = "sendrecv", ptime: Int = 20, ip: String? = nil,
        port: UInt16? = nil, version: Int = 1
    ) -> ArraySlice<UInt8> {
        let address = ip ?? socket.localAddress.ip.description
        var text = "v=0\r\no=- 1 \(version) IN IP4 \(address)\r\ns=-\r\nc=IN IP4 \(address)\r\nt=0 0\r\n"
        text += "m=audio \(port ?? socket.localAddress.port) RTP/AVP \(formats)\r\n"
        if events { text += "a=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-16\r\n" }
        text += "a=ptime:\(ptime)\r\na=\(direction)\r\n"
        return Array(text.utf8)[...]
    }

    /// Sends one packet now.
    func send(_ payload: [UInt8], type: UInt8 = 0, to target: SocketAddress, from other: DatagramSocket? = nil) {
        let header = sender.audio(payloadType: type, octets: payload.count)
        send(header, payload, to: target, from: other)
        sender.advance(by: 160)
    }

    func send(_ header: RTPHeader, _ payload: [UInt8], to target: SocketAddress, from other: DatagramSocket? = nil) {
        var bytes = [UInt8](repeating: 0, count: 12)
        bytes.withUnsafeMutableBytes { header.write(to: $0) }
        (bytes + payload).withUnsafeBytes { _ = (other ?? socket).sendNow($0, to: target) }
    }

    func close() { socket.close() }
}

/// Where a session takes RTP, by its description.
func rtpAddress(_ description: [UInt8], ip: IPAddress) -> SocketAddress {
    let text = String(decoding: description, as: UTF8.self)
    let line = text.split(separator: "\r\n").first { $0.hasPrefix("m=audio ") } ?? ""
    return SocketAddress(ip: ip, port: UInt16(line.split(separator: " ")[1]) ?? 0)
}
