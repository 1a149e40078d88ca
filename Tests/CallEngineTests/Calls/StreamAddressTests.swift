// What messages over a stream say of this end (RFC 3261 sections 12.1.1 and 18.2.2), on real loops: a host has several addresses, and only that by
// which the peer came is sure to lead back.

import Basics
import CallEngine
import Reactor
import SIP
import Testing

@Suite struct StreamAddressTests {
    /// Two loops with an engine, a third with its peer.
    private final class Scene {
        let loops: [EpollLoop]
        private let workers: MediaWorkers
        private let names: WorkerPool

        init() throws {
            loops = try (0..<3).map { try EpollLoop(name: "loop \($0)") }
            for loop in loops { try loop.start() }
            workers = try MediaWorkers()
            names = try WorkerPool(name: "names", threads: 1, limit: 16)
        }

        func engine(
            _ listeners: [EngineSettings.Listener], lines: [LineSettings] = [],
            onIncoming: @escaping @Sendable (Call) -> Void = { _ in }
        ) throws -> Engine {
            try Engine(
                settings: EngineSettings(listeners: listeners, lines: lines), loops: Array(loops[0..<2]), workers: workers,
                nameWorkers: names,
                seed: 5, onIncoming: onIncoming)
        }

        func end() {
            for loop in loops { #expect(loop.stop(within: .seconds(10)) == EpollLoop.Leftovers(), "\(loop.name)") }
            workers.stop()
            names.stop()
        }
    }

    private static func message(_ bytes: UnsafeRawBufferPointer, _ framer: Locked<StreamFramer>) -> [Message] {
        framer.withLock { framer in
            framer.append(bytes)
            var found: [Message] = []
            while case .message(let message)? = framer.next() { found.append(message) }
            return found
        }
    }

    @Test func aPeerIsToldTheAddressThatItCameTo() throws {
        let scene = try Scene()
        let onLoops = Locked<Set<String>>([])
        let engine = try scene.engine([.init(.tcp, SocketAddress(ip: .any4, port: 0))]) { call in
            onLoops.withLock { _ = $0.insert(call.loop.name) }
            try? call.ring()
        }
        let port = engine.listeners[0].address.port
        let contacts = Locked<[String]>([])
        let over = Outcome<Void>()
        let count = 20
        let peer = scene.loops[2]
        peer.runAndWait {
            let stream = peer.openStream(to: SocketAddress(ip: IPAddress("127.0.0.5")!, port: port))
            let framer = Locked(StreamFramer())
            stream.onReceive = { [unowned stream] bytes in
                for message in Self.message(bytes, framer) where message.status == 180 {
                    let told = contacts.withLock { contacts in
                        contacts.append(message.header("Contact") ?? "none")
                        return contacts.count
                    }
                    if told == count {
                        stream.close()
                        over.set(())
                    }
                }
            }
            for number in 0..<count {
                let request =
                    "INVITE sip:bot@127.0.0.5 SIP/2.0\r\nVia: SIP/2.0/TCP 127.0.0.1:9;branch=z9hG4bK\(number);rport\r\n"
                    + "From: <sip:a@h>;tag=\(number)\r\nTo: <sip:bot@h>\r\nCall-ID: stream-\(number)\r\nCSeq: 1 INVITE\r\n"
                    + "Contact: <sip:a@127.0.0.1:9;transport=tcp>\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n"
                Array(request.utf8).withUnsafeBytes { _ = stream.send($0) }
            }
        }
        _ = over.wait(within: .seconds(20))
        #expect(Set(contacts.withLock { $0 }) == ["<sip:127.0.0.5:\(port);transport=tcp>"])
        #expect(onLoops.withLock { $0.count } == 2)
        engine.close()
        scene.end()
    }

    /// Nobody can connect to an engine that does not listen: its messages name the stream that they go by, whichever loop its calls live on.
    @Test func whoDoesNotListenNamesTheStream() throws {
        let scene = try Scene()
        let peer = scene.loops[2]
        let seen = Locked<[(contact: String, via: String, method: SIP.Method?, stream: SocketAddress)]>([])
        let over = Outcome<Void>()
        let streams = Locked<[LoopBound<StreamConnection>]>([])
        let listener = try peer.runAndWait { () throws(SystemError) -> LoopBound<StreamListener> in
            let listener = try peer.listen(on: SocketAddress(ip: IPAddress("127.0.0.6")!, port: 0)) { stream in
                streams.withLock { $0.append(LoopBound(stream, on: peer)) }
                let framer = Locked(StreamFramer())
                stream.onReceive = { [unowned stream] bytes in
                    for message in Self.message(bytes, framer) where message.isRequest && message.method != .ack {
                        let count = seen.withLock { seen in
                            seen.append(
                                (
                                    message.header("Contact") ?? "", message.header("Via") ?? "", message.method,
                                    stream.peerAddress
                                ))
                            return seen.count
                        }
                        message.response(message.method == .register ? 403 : 486, tag: [116], source: stream.peerAddress)
                            .withUnsafeBytes { _ = stream.send($0) }
                        if count == 10 { over.set(()) }
                    }
                }
            }
            return LoopBound(listener, on: peer)
        }
        let address = listener.runAndWait { $0.localAddress }
        let lines = (0..<2).map { number in
            LineSettings(
                name: "line\(number)", server: "127.0.0.6", port: address.port, transport: .tcp, username: "u",
                registration: .init(domain: "example.com"))
        }
        let engine = try scene.engine([.init(.udp, SocketAddress("127.0.0.1:0")!)], lines: lines)
        engine.startLines()
        for index in 0..<8 {
            engine.withShard(index % 2) { shard in
                _ = try? shard.place(CallRequest(target: "sip:bot@\(address);transport=tcp"))
            }
        }
        _ = over.wait(within: .seconds(20))
        let all = seen.withLock { $0 }
        #expect(all.count == 10 && all.filter { $0.method == .register }.count == 2)
        for message in all {
            #expect(message.contact.contains("\(message.stream);transport=tcp"), "\(message)")
            #expect(message.via.hasPrefix("SIP/2.0/TCP \(message.stream);"), "\(message)")
        }
        engine.close()
        listener.runAndWait { $0.close() }
        for stream in streams.withLock({ $0 }) { stream.runAndWait { $0.close() } }
        scene.end()
    }
}
