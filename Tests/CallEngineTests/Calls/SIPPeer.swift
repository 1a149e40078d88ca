// A peer that sends what a test writes, and answers as a test says: for what no engine of ours would do.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit

final class SIPPeer {
    struct Answer {
        var status: Int
        var rows = ""
        var body = ""
        var type = "application/sdp"
    }

    let ip: String
    private let socket: DatagramSocket
    private let world: VirtualWorld
    private(set) var requests: [Message] = []
    private(set) var responses: [Message] = []
    /// What a request is answered with; nil: it is not.
    var answer: (Message) -> Answer?
    private var number = 0

    init(_ world: VirtualWorld, _ ip: String, answer: @escaping (Message) -> Answer? = { _ in Answer(status: 200) }) throws {
        self.world = world
        self.ip = ip
        self.answer = answer
        socket = try world.loop.bindDatagram(to: SocketAddress(ip: IPAddress(ip)!, port: 5060))
        socket.onReceive = { [unowned self] bytes, source in
            guard let message = try? Message(parsing: Array(bytes)) else { return }
            guard message.isRequest else { return responses.append(message) }
            requests.append(message)
            guard message.method != .ack, let answer = self.answer(message) else { return }
            var writer = MessageWriter()
            writer.response(answer.status, to: message, tag: Array("raw".utf8)[...], source: source)
            writer.append(Array("Contact: <sip:raw@\(ip)>\r\n\(answer.rows)".utf8))
            writer.finish(body: Array(answer.body.utf8), type: answer.type)
            send(writer.octets, to: source)
        }
    }

    /// A description with one G.711 stream at this peer.
    var description: String {
        "v=0\r\no=- 1 \(requests.count) IN IP4 \(ip)\r\ns=-\r\nc=IN IP4 \(ip)\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n"
    }

    func count(_ method: SIP.Method) -> Int { requests.filter { $0.method == method }.count }

    /// Where its own requests go.
    var target = SocketAddress("192.0.2.1:5060")!

    func send(_ octets: [UInt8], to target: SocketAddress? = nil) {
        octets.withUnsafeBytes { socket.send($0, to: target ?? self.target) }
    }

    /// Sends a request of its own to its target and gives the final answer that came within a second.
    /// - Parameters:
    ///   - rows: whole rows; Content-Length is added.
    ///   - tag: this end's.
    ///   - number: of CSeq; nil: the next.
    ///   - within: the dialog that this response made.
    func request(
        _ method: String, _ rows: String = "", body: String = "", uri: String = "sip:bot@192.0.2.1",
        to: String = "<sip:bot@192.0.2.1>", tag: String = "r", number given: Int? = nil, within dialog: Message? = nil
    ) -> Message? {
        number += 1
        let cSeq = given ?? number
        let target = dialog.flatMap { $0.header("To") } ?? to
        let callID = dialog.map { text($0.callID) } ?? "raw\(number)-\(ip)"
        let octets =
            "\(method) \(uri) SIP/2.0\r\nVia: SIP/2.0/UDP \(ip):5060;branch=z9hG4bKraw\(number)\r\nMax-Forwards: 70\r\n"
            + "From: <sip:raw@elsewhere.example>;tag=\(tag)\r\nTo: \(target)\r\nCall-ID: \(callID)\r\nCSeq: \(cSeq) \(method)\r\n"
            + "Contact: <sip:raw@\(ip)>\r\n\(rows)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        send(Array(octets.utf8))
        world.loop.run(for: .seconds(1))
        return responses.last { $0.cSeq == UInt32(cSeq) && "\($0.cSeqMethod.name)" == method && $0.status >= 200 }
    }

    /// The ACK for the 2xx to the latest INVITE; `body` answers an offer.
    func acknowledge(_ response: Message, tag: String = "r", body: String = "", type: String = "application/sdp") {
        let octets =
            "ACK sip:bot@192.0.2.1 SIP/2.0\r\nVia: SIP/2.0/UDP \(ip):5060;branch=z9hG4bKack\(number)\r\nMax-Forwards: 70\r\n"
            + "From: <sip:raw@elsewhere.example>;tag=\(tag)\r\nTo: \(response.header("To") ?? "")\r\nCall-ID: \(text(response.callID))\r\n"
            + "CSeq: \(response.cSeq) ACK\r\n\(body.isEmpty ? "" : "Content-Type: \(type)\r\n")"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        send(Array(octets.utf8))
        world.loop.run(for: .milliseconds(100))
    }

    func close() { socket.close() }
}
