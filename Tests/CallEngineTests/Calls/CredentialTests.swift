// Credentials of calls that go out through a line, against a peer that challenges.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct CredentialTests {
    /// A proxy that challenges the first INVITE, answers the second, and keeps what it gets.
    private final class Challenger {
        private let socket: DatagramSocket
        private(set) var requests: [Message] = []

        init(_ world: VirtualWorld, _ ip: String) throws {
            socket = try world.loop.bindDatagram(to: SocketAddress(ip: IPAddress(ip)!, port: 5060))
            socket.onReceive = { [unowned self] bytes, source in
                guard let request = try? Message(parsing: Array(bytes)) else { return }
                requests.append(request)
                switch request.method {
                case .invite where request.has(.proxyAuthorization): answer(request, source)
                case .invite: challenge(request, source)
                case .ack: break
                default: send(request.response(200, source: source), source)
                }
            }
        }

        private func challenge(_ request: Message, _ source: SocketAddress) {
            var writer = MessageWriter()
            writer.response(407, to: request, tag: Array("proxy".utf8)[...], source: source)
            writer.append("Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n")
            writer.finish()
            send(writer.octets, source)
        }

        private func answer(_ request: Message, _ source: SocketAddress) {
            let ip = socket.localAddress.ip
            var writer = MessageWriter()
            writer.response(200, to: request, tag: Array("callee".utf8)[...], source: source)
            writer.header("Contact", text: "<sip:callee@\(ip)>")
            writer.finish(
                body: Array("v=0\r\no=- 1 1 IN IP4 \(ip)\r\ns=-\r\nc=IN IP4 \(ip)\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n".utf8),
                type: "application/sdp")
            send(writer.octets, source)
        }

        private func send(_ octets: [UInt8], _ target: SocketAddress) {
            octets.withUnsafeBytes { socket.send($0, to: target) }
        }

        func close() { socket.close() }
    }

    @Test func theACKRepeatsTheCredentialsOfItsINVITE() throws {
        let world = VirtualWorld(seed: 5)
        let challenger = try Challenger(world, "192.0.2.1")
        let callers = try world.engine(at: "192.0.2.2") { settings in
            settings.lines = [
                LineSettings(name: "trunk", server: "192.0.2.1", username: "u", password: Secret("a-secret"))
            ]
        }
        for count in 1...2 {
            let call = try callers.shard(0).place(CallRequest(target: "sip:callee@192.0.2.1", line: "trunk"))
            world.loop.run(for: .seconds(1))
            #expect(call.state == .answered)
            call.hangUp(.normal)
            world.loop.run(for: .seconds(40))
            let credentials = challenger.requests.compactMap { $0.header("Proxy-Authorization") }
            // INVITE and ACK have the same ones; the BYE, which nobody has to ask any more, the next.
            #expect(credentials.count == 3 * count)
            #expect(Set(credentials).count == 2 * count)
            #expect(credentials.last?.contains("nc=0000000\(2 * count)") == true)
        }
        #expect(challenger.requests.compactMap(\.method) == [.invite, .ack, .invite, .ack, .bye, .invite, .ack, .bye])
        challenger.close()
        #expect(world.finish() == [])
    }
}
