// Rows that are no headers, as the attack on a running server sends them (Fuzz/attack.py).

import SIP
import Testing

@Suite struct HostileRowTests {
    /// A known name at the end of its line, without a colon: it has no value, and what is read of it lies in no range.
    @Test(
        arguments: [
            "Via", "v", "From", "f", "To", "t", "Call-ID", "i", "CSeq", "Content-Length", "l", "Contact", "m", "Max-Forwards",
            "Content-Type", "c"
        ], ["\n", "\r\n", "\n \n"])
    func aNameWithoutItsColonIsNoHeader(name: String, end: String) throws {
        let text = "OPTIONS sip:a@b SIP/2.0\r\n\(name)\(end)Subject: x\r\n\r\n"
        let message = try Message(parsing: Array(text.utf8))
        #expect(message.defect?.fault == .missingColon)
        #expect(message.callID.isEmpty && message.contentType == nil && message.header("Contact") == nil)
        #expect((try? message.from()) == nil && (try? message.to()) == nil)
        #expect(message.header("Subject") == "x")
    }
}
