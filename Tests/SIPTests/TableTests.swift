// Tables that are looked into for each message: keys of transactions and dialogs, names of headers.

import Basics
import SIP
import Testing

@Suite("TableTests")
struct TableTests {
    /// Keys come and go in every order; the table holds what a dictionary holds.
    @Test func keysComeAndGo() {
        var layer = TransactionLayer(seed: 7)
        let keys = (0..<600).map { layer.dialogKey(callID: Array("call \($0)".utf8)[...], tag: [116]) }
        var table = KeyTable()
        var model: [Int: UInt32] = [:]
        var random = SeededRandom(seed: 11)
        for round in 0..<20_000 {
            let index = Int.random(in: keys.indices, using: &random)
            // Rounds of growing and of shrinking follow each other.
            if Int.random(in: 0..<10, using: &random) < ((round / 4000).isMultiple(of: 2) ? 7 : 3) {
                table.set(keys[index], UInt32(round))
                model[index] = UInt32(round)
            } else if let value = model[index] {
                table.remove(keys[index], value &+ 1)
                #expect(table[keys[index]] == value, "only its own number is taken out")
                table.remove(keys[index], value)
                model[index] = nil
            }
            #expect(table.count == model.count)
            if round.isMultiple(of: 1000) { for place in keys.indices { #expect(table[keys[place]] == model[place]) } }
        }
    }

    /// A dialog is found by what the other end writes: our tag is in its requests' To, and in From of its responses.
    @Test func dialogsAreFoundByMessages() throws {
        var layer = TransactionLayer(seed: 7)
        let key = layer.dialogKey(callID: Array("x".utf8)[...], tag: Array("ours".utf8)[...])
        func message(_ start: String, from: String, to: String) throws -> Message {
            try Message(parsing: Array("\(start)\r\nCall-ID: x\r\nFrom: <sip:a@h>\(from)\r\nTo: <sip:b@h>\(to)\r\n\r\n".utf8))
        }
        let bye = try message("BYE sip:b@h SIP/2.0", from: ";tag=theirs", to: ";tag=ours")
        let ok = try message("SIP/2.0 200 OK", from: ";tag=ours", to: ";tag=theirs")
        let invite = try message("INVITE sip:b@h SIP/2.0", from: ";tag=ours", to: "")
        let keys = [layer.dialogKey(of: bye), layer.dialogKey(of: ok), layer.dialogKey(of: invite)]
        #expect(keys == [key, key, nil])
    }

    @Test func headerNamesInAnyCase() {
        for kind in HeaderKind.allCases where kind != .other {
            let name = "\(kind.name)"
            for spelled in [name, name.uppercased(), name.lowercased()] { #expect(HeaderKind(name: spelled) == kind) }
            // One octet more, or another one, is another name: also one that differs in the bit that is the case of letters.
            #expect(HeaderKind(name: name + "x") == .other)
            for place in 0..<name.utf8.count {
                var octets = Array(name.utf8)
                octets[place] ^= 0x10
                #expect(HeaderKind(name: String(decoding: octets, as: UTF8.self)) == .other, "\(octets)")
                octets = Array(name.utf8)
                guard octets[place] == UInt8(ascii: "-") else { continue }
                octets[place] = 13
                #expect(HeaderKind(name: String(decoding: octets, as: UTF8.self)) == .other)
            }
        }
    }
}
