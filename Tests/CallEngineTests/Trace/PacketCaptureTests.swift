import Basics
import CallEngine
import Testing

/// The octets of captures, read by hand; `TraceTests` of the peers lets tshark read them.
@Suite struct PacketCaptureTests {
    let here = SocketAddress("192.0.2.1:5060")!
    let there = SocketAddress("198.51.100.7:40000")!

    /// The sum of 16-bit words, folded: 0xFFFF when a checksum among them is right.
    private func sum(_ octets: [UInt8]) -> UInt32 {
        var sum: UInt32 = 0
        for index in stride(from: 0, to: octets.count, by: 2) {
            sum += UInt32(octets[index]) << 8 | (index + 1 < octets.count ? UInt32(octets[index + 1]) : 0)
        }
        while sum >> 16 != 0 { sum = sum & 0xFFFF + sum >> 16 }
        return sum
    }

    private func number(_ octets: ArraySlice<UInt8>) -> Int { octets.reduce(0) { $0 << 8 | Int($1) } }

    @Test func aDatagramOverIPv4() {
        var capture = PacketCapture()
        // An odd length, so that the sum has half a word.
        let record = capture.records(
            Array("hello".utf8)[...], from: here, to: there, over: .datagram, time: 1_700_000_000_123_456)
        #expect(number(record[0..<4]) == 1_700_000_000 && number(record[4..<8]) == 123_456)
        #expect(number(record[8..<12]) == 33 && number(record[12..<16]) == 33)
        let packet = Array(record[16...])
        #expect(packet.count == 33)
        #expect(packet[0] == 0x45 && number(packet[2..<4]) == 33 && packet[9] == 17)
        #expect(sum(Array(packet[..<20])) == 0xFFFF)
        #expect(Array(packet[12..<16]) == [192, 0, 2, 1] && Array(packet[16..<20]) == [198, 51, 100, 7])
        #expect(number(packet[20..<22]) == 5060 && number(packet[22..<24]) == 40000 && number(packet[24..<26]) == 13)
        #expect(sum(Array(packet[12..<20]) + [0, 17, 0, 13] + packet[20...]) == 0xFFFF)
        #expect(Array(packet[28...]) == Array("hello".utf8))
    }

    @Test func aDatagramOverIPv6() {
        var capture = PacketCapture()
        let record = capture.records(
            Array("hello".utf8)[...], from: SocketAddress("[2001:db8::1]:5060")!, to: SocketAddress("[2001:db8::2]:5062")!,
            over: .datagram, time: 0)
        let packet = Array(record[16...])
        #expect(packet.count == 53 && packet[0] == 0x60 && number(packet[4..<6]) == 13 && packet[6] == 17)
        #expect(sum(Array(packet[8..<40]) + [0, 0, 0, 13, 0, 0, 0, 17] + packet[40...]) == 0xFFFF)
    }

    @Test func aStreamCountsItsOctetsInBothDirections() {
        var capture = PacketCapture()
        func numbers(_ text: String, _ from: SocketAddress, _ to: SocketAddress) -> (sequence: Int, acknowledged: Int) {
            let packet = Array(capture.records(Array(text.utf8)[...], from: from, to: to, over: .stream, time: 0)[16...])
            #expect(packet[9] == 6)
            let length = packet.count - 20
            #expect(sum(Array(packet[12..<20]) + [0, 6, UInt8(length >> 8), UInt8(length & 255)] + packet[20...]) == 0xFFFF)
            return (number(packet[24..<28]), number(packet[28..<32]))
        }
        #expect(numbers("12345", here, there) == (1, 1))
        #expect(numbers("123", there, here) == (1, 6))
        #expect(numbers("1", here, there) == (6, 4))
        // Another connection has numbers of its own.
        #expect(numbers("1", here, SocketAddress("198.51.100.7:40001")!) == (1, 1))
    }

    @Test func aMessageThatNoPacketHoldsIsSeveral() {
        var capture = PacketCapture()
        let long = [UInt8](repeating: 65, count: 100_000)
        let octets = capture.records(long[...], from: here, to: there, over: .stream, time: 0)
        #expect(octets.count == 100_000 + 2 * (16 + 20 + 20))
        #expect(number(octets[8..<12]) == 65_535)
        // As a datagram it ends where a packet does.
        #expect(capture.records(long[...], from: here, to: there, over: .datagram, time: 0).count == 65_495 + 16 + 28)
    }

    @Test func aSocketOfBothFamiliesMayNotKnowItsAddress() {
        var capture = PacketCapture()
        let record = capture.records(
            [1, 2, 3], from: SocketAddress(ip: .any6, port: 5060), to: there, over: .datagram, time: 0)
        #expect(record[16] == 0x45 && Array(record[28..<32]) == [0, 0, 0, 0])
    }
}
