// A registrar of a few lines on the virtual network: it challenges, accepts, refuses or stays silent as the test says.

import Basics
import Reactor
import SIP

final class ScriptedRegistrar {
    enum Mode {
        case accept
        case challenge(nonce: String)
        case refuse(Int)
        case silent
    }

    var mode = Mode.accept
    var seconds = 300
    /// Rows of each 200.
    var rows: [String] = []
    private(set) var requests: [(message: Message, from: SocketAddress, at: Instant)] = []
    /// Datagrams that are no messages.
    private(set) var signsOfLife = 0
    private let socket: DatagramSocket

    init(loop: EventLoop, at address: String) throws {
        socket = try loop.bindDatagram(to: SocketAddress(address)!)
        socket.onReceive = { [unowned self] bytes, source in
            guard bytes.count > 8, let message = try? Message(parsing: [UInt8](bytes)) else {
                signsOfLife += 1
                return
            }
            if message.method == .register { received(message, source, at: loop.now) }
        }
    }

    func close() { socket.close() }

    private func received(_ request: Message, _ source: SocketAddress, at now: Instant) {
        requests.append((request, source, now))
        switch mode {
        case .silent: return
        case .refuse(let status): answer(request, source, status, [])
        case .challenge(let nonce) where !request.has(.authorization):
            answer(request, source, 401, ["WWW-Authenticate: Digest realm=\"pbx\", nonce=\"\(nonce)\", qop=\"auth\""])
        case .accept, .challenge:
            let contact = request.header("Contact") ?? ""
            let leaves = request.header("Expires") == "0"
            answer(
                request, source, 200,
                rows + (leaves ? [] : ["Contact: \(contact.replacing("expires=3600", with: "expires=\(seconds)"))"]))
        }
    }

    private func answer(_ request: Message, _ source: SocketAddress, _ status: Int, _ rows: [String]) {
        var writer = MessageWriter()
        writer.response(status, to: request, tag: Array("reg".utf8)[...], source: source)
        for row in rows { writer.append(Array("\(row)\r\n".utf8)) }
        writer.finish()
        writer.octets.withUnsafeBytes { socket.send($0, to: source) }
    }
}
