// What a trace does with a message of anybody: secrets are masked in place, a ladder is drawn.

import Basics
import CallEngine
import SIP

func attackTrace(_ bytes: [UInt8]) {
    guard let flags = bytes.first else { return }
    let message = Array(bytes.dropFirst())
    var masked = message
    MessageMask.apply(to: &masked, hidesDigits: flags & 1 == 1)
    precondition(masked.count == message.count, "no length changes")
    var again = masked
    MessageMask.apply(to: &again, hidesDigits: flags & 1 == 1)
    precondition(again == masked, "what is masked stays as it is")
    if let before = try? Message(parsing: message), let after = try? Message(parsing: masked) {
        precondition(
            before.rows.map(\.kind) == after.rows.map(\.kind) && before.bodyRange.count == after.bodyRange.count
                && before.method == after.method && before.status == after.status, "a message stays the message that it is")
    }
    var ladder = CallLadder(direction: flags & 2 == 2 ? .inbound : .outbound, start: .zero)
    let here = SocketAddress(ip: .loopback4, port: 5060)
    for (index, direction) in [TracedMessage.Direction.sent, .received].enumerated() {
        let there = SocketAddress(ip: .v4(0xC000_0200 + UInt32(index)), port: 5060)
        ladder.add(TracedMessage(at: .zero, direction: direction, local: here, remote: there, bytes: masked))
    }
    use(ladder.text)
    let picture = LadderPicture(ladder, title: "fuzz").svg
    precondition(
        picture.unicodeScalars.allSatisfy { $0.value >= 0x20 || $0 == "\n" || $0 == "\t" }, "a picture is XML: no other controls")
    var capture = PacketCapture()
    for carrier in [PacketCapture.Carrier.datagram, .stream] {
        use(capture.records(masked[...], from: here, to: here, over: carrier, time: 0))
    }
}
