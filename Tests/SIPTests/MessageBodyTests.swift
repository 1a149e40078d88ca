// Bodies of several parts (RFC 2046, RFC 5621): where the description is, what may be passed over, and what is refused.

import SIP
import Testing

@Suite struct MessageBodyTests {
    static let sdp = "v=0\r\no=- 1 1 IN IP4 192.0.2.7\r\ns=-\r\nt=0 0\r\n"

    private func message(_ type: String, _ body: String, _ rows: String...) throws -> Message {
        try Message(
            parsing: octets(
                "INVITE sip:x@h SIP/2.0", "Via: SIP/2.0/UDP h;branch=z9hG4bKm", "From: <sip:a@h>;tag=1", "To: <sip:x@h>",
                "Call-ID: m", "CSeq: 1 INVITE", "Content-Type: \(type)", "Content-Length: \(body.utf8.count)",
                rows.isEmpty ? "Max-Forwards: 70" : rows.joined(separator: "\r\n"), body: body))
    }

    /// Parts between delimiters: rows and content of each.
    private func parts(_ boundary: String, _ parts: (String, String)..., end: String = "\r\n") -> String {
        parts.map { "--\(boundary)\r\n\($0.0)\($0.0.isEmpty ? "" : "\r\n")\r\n\($0.1)\r\n" }.joined() + "--\(boundary)--\(end)"
    }

    private func description(_ message: Message) -> String? { message.sessionDescription.map { text($0) } }

    private func status(_ message: Message) -> Int? { RequestScreening().refusal(of: message)?.status }

    private let isup = (
        "Content-Type: application/ISUP;version=itu-t92+\r\nContent-Disposition: signal;handling=optional", "\u{1}\u{2}"
    )
    private let offer = ("Content-Type: application/sdp", sdp)

    @Test func theDescriptionStandsBesideOthers() throws {
        for (first, second) in [(isup, offer), (offer, isup)] {
            let message = try message("multipart/mixed;boundary=unique", parts("unique", first, second))
            #expect(description(message) == Self.sdp && status(message) == nil)
        }
        #expect(description(try message("application/sdp", Self.sdp)) == Self.sdp)
        #expect(description(try message("text/plain", "hello")) == nil)
        #expect(description(try message("multipart/mixed;boundary=a", "")) == nil)
    }

    @Test(arguments: [
        ("multipart/mixed; boundary=\"a b=c?\"", "a b=c?"), ("Multipart/MIXED ; charset=x ; BOUNDARY = u", "u"),
        ("multipart/mixed;\r\n boundary=\"u\"", "u"), ("multipart/vnd.unknown;boundary=u", "u")
    ]) func boundariesAreReadInAnyForm(type: String, boundary: String) throws {
        let message = try message(type, parts(boundary, isup, offer))
        #expect(description(message) == Self.sdp && status(message) == nil)
    }

    @Test func linesAreLenient() throws {
        // A preamble, blanks behind a delimiter, an epilogue, a boundary that begins another word, rows in compact form and folded.
        let body =
            "This is no part.\r\n--u \t\r\nc: application/sdp\r\nContent-Disposition: session;\r\n handling=required\r\n\r\n"
            + "v=0\r\n--under\r\n\r\n--u--\r\nContent-Type: application/sdp\r\n\r\nepilogue"
        let message = try message("multipart/mixed;boundary=u", body)
        #expect(description(message) == "v=0\r\n--under\r\n" && status(message) == nil)
        // Line feeds alone, and no closing delimiter.
        let bare = try self.message("multipart/mixed;boundary=u", "--u\nContent-Type: application/sdp\n\nv=0\ns=-\n")
        #expect(description(bare) == "v=0\ns=-\n" && status(bare) == nil)
    }

    /// Found by `scripts/fuzz sip-message`: its content was said to be at the begin of the message.
    @Test func aPartWithoutTheEmptyLineIsEmpty() throws {
        let message = try message("multipart/mixed;boundary=u", "--u\r\nContent-Type: application/sdp\r\n--u--")
        let description = try #require(message.multipartContent.description)
        #expect(description.isEmpty && message.bodyRange.start < description.start && description.end < message.bodyRange.end)
    }

    @Test func whatIsRequiredAndForeignIsRefused() throws {
        let metadata = "Content-Type: application/rs-metadata+xml"
        for rows in [
            metadata, metadata + "\r\nContent-Disposition: recording-session;handling=required", "", "Content-Type: text/plain"
        ] {
            let message = try message("multipart/mixed;boundary=u", parts("u", offer, (rows, "x")))
            let refusal = try #require(RequestScreening().refusal(of: message))
            #expect(refusal.status == 415)
            #expect(
                text(refusal.headers) == "Accept: application/sdp, multipart/alternative, multipart/mixed, multipart/related\r\n")
        }
        // Of an answer the description is taken all the same.
        #expect(description(try message("multipart/mixed;boundary=u", parts("u", (metadata, "x"), offer))) == Self.sdp)
        // The body as a whole may be passed over.
        let optional = try message(
            "multipart/mixed;boundary=u", parts("u", (metadata, "x")), "Content-Disposition: render;handling=\"Optional\"")
        #expect(status(optional) == nil && description(optional) == nil)
    }

    /// A location is named by Geolocation; its part says no disposition in RFC 6442's own examples.
    @Test func whatAHeaderRefersToIsPassedOver() throws {
        for rows in [
            "Content-ID: <l@h>", "Content-ID: <l@h>\r\nContent-Disposition: by-reference", "Content-Disposition: by-reference"
        ] {
            let location = ("Content-Type: application/pidf+xml\r\n" + rows, "<presence/>")
            let message = try message("multipart/mixed;boundary=u", parts("u", offer, location), "Geolocation: <cid:l@h>")
            #expect(description(message) == Self.sdp && status(message) == nil)
        }
        let required = (
            "Content-Type: application/pidf+xml\r\nContent-ID: <l@h>\r\nContent-Disposition: render;handling=required", "x"
        )
        #expect(status(try message("multipart/mixed;boundary=u", parts("u", offer, required))) == 415)
    }

    @Test func anotherUseOrEncodingIsNoDescription() throws {
        let early = ("Content-Type: application/sdp\r\nContent-Disposition: early-session;handling=optional", "early")
        let message = try message("multipart/mixed;boundary=u", parts("u", early, offer))
        #expect(description(message) == Self.sdp && status(message) == nil)
        let encoded = ("Content-Type: application/sdp\r\nContent-Transfer-Encoding: base64", "dj0w")
        let packed = ("Content-Type: application/sdp\r\nContent-Encoding: gzip", Self.sdp)
        for part in [encoded, packed] {
            let message = try self.message("multipart/mixed;boundary=u", parts("u", part))
            #expect(status(message) == 415 && description(message) == nil)
        }
        for row in ["Content-Transfer-Encoding: 8BIT", "e: Identity"] {
            let plain = ("Content-Type: application/sdp\r\n\(row)", Self.sdp)
            #expect(description(try self.message("multipart/mixed;boundary=u", parts("u", plain))) == Self.sdp)
        }
    }

    @Test func ofAlternativesTheLastThatIsUnderstoodCounts() throws {
        let other = ("Content-Type: application/sdpng", "<sdpng/>")
        let second = ("Content-Type: application/sdp", "v=0\r\ns=2\r\n")
        let message = try message("multipart/alternative;boundary=u", parts("u", offer, second, other))
        #expect(description(message) == second.1 && status(message) == nil)
        #expect(status(try self.message("multipart/alternative;boundary=u", parts("u", other))) == 415)
    }

    @Test func theRootSpeaksForWhatIsRelated() throws {
        let picture = ("Content-Type: image/png\r\nContent-ID: <p@h>\r\nContent-Disposition: render;handling=required", "x")
        let root = (offer.0 + "\r\nContent-ID: <root@h>", Self.sdp)
        let named = try message("multipart/related;start=\"<root@h>\";boundary=u", parts("u", picture, root))
        #expect(description(named) == Self.sdp && status(named) == nil)
        let first = try message("multipart/related;boundary=u", parts("u", root, picture))
        #expect(description(first) == Self.sdp && status(first) == nil)
        #expect(status(try message("multipart/related;boundary=u", parts("u", picture, root))) == 415)
    }

    @Test func partsMayHaveParts() throws {
        let inner = parts("in", isup, offer, end: "")
        let nested = try message(
            "multipart/mixed;boundary=out", parts("out", isup, ("Content-Type: multipart/mixed;boundary=in", inner)))
        #expect(description(nested) == Self.sdp && status(nested) == nil)
        var body = parts("u5", offer, end: "")
        for level in (0..<5).reversed() {
            body = parts("u\(level)", ("Content-Type: multipart/mixed;boundary=u\(level + 1)", body), end: "")
        }
        #expect(status(try message("multipart/mixed;boundary=u0", body)) == 400, "six within each other")
    }

    @Test func whatCannotBeTakenApartIsABadRequest() throws {
        #expect(status(try message("multipart/mixed", parts("u", offer))) == 400)
        #expect(status(try message("multipart/mixed;boundary=\"\"", parts("", offer))) == 400)
        #expect(status(try message("multipart/mixed;boundary=v", parts("u", offer))) == 400)
        #expect(status(try message("multipart/mixed;boundary=u", "--u--\r\n")) == 400)
        #expect(status(try message("multipart/mixed;boundary=\(String(repeating: "u", count: 71))", "x")) == 400)
        let many = String(repeating: "--u\r\nContent-Disposition: x;handling=optional\r\n\r\nx\r\n", count: 33) + "--u--"
        #expect(status(try message("multipart/mixed;boundary=u", many)) == 400)
        #expect(status(try message("multipart/mixed;boundary=u", String(many.dropFirst(52)))) != 400)
    }
}
