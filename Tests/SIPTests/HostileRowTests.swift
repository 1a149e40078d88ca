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

    /// A semicolon at the end of To is let through; our tag is found behind it all the same (scripts/fuzz sip-message).
    @Test(arguments: ["<sip:a@b>;", "<sip:a@b>;x ; ", "sip:a@b;"]) func aToThatEndsWithASemicolonGetsATag(to: String) throws {
        let text =
            "OPTIONS sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:a@b>;tag=1\r\nTo: \(to)\r\n"
            + "Call-ID: 1\r\nCSeq: 1 OPTIONS\r\n\r\n"
        let message = try Message(parsing: Array(text.utf8))
        try message.check()
        let response = try Message(parsing: message.response(200, tag: [65, 66], source: nil))
        try response.check()
        #expect(try response.to().tag.map { Array($0) } == [65, 66])
    }
}
