// How a stream is cut must not matter: what the fuzzer found (scripts/fuzz sip-stream).

import SIP
import Testing

@Suite struct StreamCutTests {
    private func messages(_ stream: [UInt8], by size: Int) -> (found: [[UInt8]], isBroken: Bool) {
        var framer = StreamFramer()
        var found: [[UInt8]] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            framer.append(stream[start..<min(stream.count, start + size)])
            while let event = framer.next() {
                switch event {
                case .message(let message): found.append(message.octets)
                case .broken: return (found, true)
                case .ping, .pong: break
                }
            }
        }
        return (found, false)
    }

    @Test(arguments: ["\n\n\n", "\n\r\n\r\n", "\r\r\n\r\n", " \n\n \n", "\r\n\n\n\r\n"])
    func lineEndsBetweenMessagesAreSkipped(ends: String) {
        let stream = Array(ends.utf8) + Vectors.invite + Array(ends.utf8) + Vectors.invite
        for size in [1, 2, 3, 7, stream.count] {
            let result = messages(stream, by: size)
            #expect(result.found == [Vectors.invite, Vectors.invite] && !result.isBroken, "\(size) octets at a time")
        }
    }

    /// A body that comes in small pieces costs its octets and not a parse of the head for each piece.
    @Test func theHeadIsReadOnce() {
        let body = String(repeating: "x", count: 20_000)
        let message = Array("MESSAGE sip:a@b SIP/2.0\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
        var framer = StreamFramer()
        var found: [[UInt8]] = []
        for octet in message + message {
            framer.append(CollectionOfOne(octet))
            while case .message(let message)? = framer.next() { found.append(message.octets) }
        }
        #expect(found == [message, message])
        #expect(framer.headsRead == 2)
    }

    /// Where a glance at the head is not enough, what is given out is the same: in one piece or octet by octet.
    @Test(arguments: [
        ("Content-Length: 2\r\n", 2, false), ("l: 2\r\n", 2, false), ("CONTENT-LENGTH \t: 2 \r\n", 2, false),
        ("Content-Length:\r\n 2\r\n", 2, false), ("Content-Length: 2\nContact: <sip:c@d>\n", 2, false), ("", 0, false),
        ("Content-Length: 0002\r\nl: 2\r\n", 2, false), ("Content-Length: 2\r\nl: 3\r\n", 0, true),
        ("Content-Length: 2;x\r\n", 0, true), ("Content-Length: -2\r\n", 0, true),
        ("Content-Length: 99999999\r\n", 0, true), ("Content-Language: de\r\nl:2\r\n", 2, false)
    ])
    func aLengthIsTheSameHoweverItIsWritten(row: String, length: Int, breaks: Bool) {
        let first = Array("MESSAGE sip:a@b SIP/2.0\r\nSubject: x\r\n\(row)\r\nab".utf8).dropLast(2 - length)
        let stream = first + Vectors.invite
        for size in [1, 7, stream.count] {
            let result = messages(Array(stream), by: size)
            #expect(result.isBroken == breaks, "\(size) octets at a time")
            #expect(result.found == (breaks ? [] : [Array(first), Vectors.invite]), "\(size) octets at a time")
        }
    }
}
