// Requests of ours inside a dialog that are challenged (RFC 3261 section 22): a proxy that asks whenever it likes.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct ChallengedRequestTests {
    /// Asks for credentials with its present nonce, and answers what has them.
    private final class Proxy {
        private let socket: DatagramSocket
        /// What counts as credentials; nil asks nobody.
        var nonce: String?
        /// Whatever comes is refused.
        var isDeaf = false
        private(set) var requests: [Message] = []

        init(_ world: VirtualWorld, nonce: String?) throws {
            self.nonce = nonce
            socket = try world.loop.bindDatagram(to: SocketAddress(ip: IPAddress("192.0.2.1")!, port: 5060))
            socket.onReceive = { [unowned self] bytes, source in
                guard let request = try? Message(parsing: Array(bytes)), request.isRequest else { return }
                requests.append(request)
                guard request.method != .ack, request.method != .cancel else { return }
                let given = request.header(.proxyAuthorization).map { AuthParameters(Array($0.utf8))["nonce"] ?? "" }
                if let nonce = self.nonce, given != nonce || isDeaf {
                    answer(
                        request, 407, source,
                        rows: "Proxy-Authenticate: Digest realm=\"r\", nonce=\"\(nonce)\", qop=\"auth\""
                            + (given == nil || isDeaf ? "\r\n" : ", stale=true\r\n"))
                } else {
                    accept(request, source)
                }
            }
        }

        private func accept(_ request: Message, _ source: SocketAddress) {
            switch request.method {
            case .invite:
                let isHold = text(request.body).contains("a=sendonly")
                answer(
                    request, 200, source, rows: "Contact: <sip:callee@192.0.2.1>\r\nAllow: UPDATE\r\n",
                    body: "v=0\r\no=- 1 \(requests.count) IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n"
                        + "m=audio 4000 RTP/AVP 0\r\na=\(isHold ? "recvonly" : "sendrecv")\r\n")
            case .refer: answer(request, 202, source, rows: "Refer-Sub: false\r\n")
            default: answer(request, 200, source)
            }
        }

        private func answer(_ request: Message, _ status: Int, _ source: SocketAddress, rows: String = "", body: String = "") {
            var writer = MessageWriter()
            writer.response(status, to: request, tag: Array("far".utf8)[...], source: source)
            writer.append(Array(rows.utf8))
            writer.finish(body: Array(body.utf8), type: "application/sdp")
            writer.octets.withUnsafeBytes { socket.send($0, to: source) }
        }

        /// The numbers of all requests of a method, ACKs aside.
        func numbers(_ method: SIP.Method) -> [UInt32] { requests.filter { $0.method == method }.map(\.cSeq) }

        func close() { socket.close() }
    }

    private func caller(_ world: VirtualWorld) throws -> Engine {
        try world.engine(at: "192.0.2.2") { settings in
            settings.lines = [LineSettings(name: "trunk", server: "192.0.2.1", username: "u", password: Secret("a-secret"))]
        }
    }

    @Test func everyRequestIsSentAgainWithCredentials() throws {
        let world = VirtualWorld(seed: 61)
        let proxy = try Proxy(world, nonce: "n1")
        let call = try caller(world).shard(0).place(CallRequest(target: "sip:callee@192.0.2.1", line: "trunk"))
        var failure: (any Error)?
        var transfer: TransferResult?
        world.loop.spawn {
            do {
                _ = try await call.wait(for: .answered, timeout: nil)
                proxy.nonce = "n2"
                try await call.hold(music: nil)
                // The nonce is known: nobody has to ask.
                try await call.unhold()
                proxy.nonce = "n3"
                try await call.sendDigits("5", options: SendDigitsOptions(method: .info))
                proxy.nonce = "n4"
                transfer = try await call.transfer(TransferRequest(target: "sip:else@192.0.2.9"))
                proxy.nonce = "n5"
            } catch {
                failure = error
            }
            call.hangUp(.normal)
        }
        world.loop.run(for: .seconds(10))
        #expect(failure == nil)
        #expect(transfer == TransferResult(outcome: .transferred, status: 202))
        #expect(proxy.numbers(.invite) == [1, 2, 3, 4, 5])
        #expect(proxy.numbers(.info) == [6, 7] && proxy.numbers(.refer) == [8, 9] && proxy.numbers(.bye) == [10, 11])
        // Each with one row of credentials, a count that rises and a branch of its own.
        let counts = proxy.requests.filter { $0.method != .ack }.compactMap { $0.header(.proxyAuthorization) }
        #expect(Set(counts).count == counts.count)
        #expect(proxy.requests.allSatisfy { $0.headers("Proxy-Authorization").count <= 1 })
        #expect(Set(proxy.requests.compactMap { try? text($0.topVia().branch) }).count >= 11)
        // The ACKs of the 200s have the numbers of the INVITEs that were accepted.
        #expect(Set(proxy.numbers(.ack)).isSuperset(of: [2, 4, 5]))
        proxy.close()
        #expect(world.finish() == [])
    }

    @Test func aRequestThatNobodyAskedBeforeIsAnsweredToo() throws {
        let world = VirtualWorld(seed: 62)
        let proxy = try Proxy(world, nonce: nil)
        let call = try caller(world).shard(0).place(CallRequest(target: "sip:callee@192.0.2.1", line: "trunk"))
        world.loop.run(for: .seconds(1))
        #expect(call.state == .answered)
        proxy.nonce = "n1"
        call.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        #expect(proxy.numbers(.bye) == [2, 3])
        #expect(proxy.requests.last?.header(.proxyAuthorization)?.contains("uri=\"sip:callee@192.0.2.1\"") == true)
        proxy.close()
        #expect(world.finish() == [])
    }

    @Test func credentialsThatAreRefusedEndTheRequestAndNotTheCall() throws {
        let world = VirtualWorld(seed: 63)
        let proxy = try Proxy(world, nonce: "n1")
        let call = try caller(world).shard(0).place(CallRequest(target: "sip:callee@192.0.2.1", line: "trunk"))
        world.loop.run(for: .seconds(1))
        proxy.isDeaf = true
        var failure: (any Error)?
        world.loop.spawn { do { try await call.hold(music: nil) } catch { failure = error } }
        world.loop.run(for: .seconds(5))
        #expect(failure as? CallControlError == .refused(operation: "hold", status: 407))
        #expect(call.state == .answered)
        #expect(proxy.numbers(.invite).count <= 5, "it is not tried for ever")
        call.hangUp(.normal)
        world.loop.run(for: .seconds(5))
        #expect((1...3).contains(proxy.numbers(.bye).count))
        proxy.close()
        #expect(world.finish() == [])
    }
}
