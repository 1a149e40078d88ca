// Dialogs: route sets and targets of both sides, strict routing, numbers. Field reports B044, B046, B047. And what a UA refuses.

import Basics
import SIP
import Testing

struct DialogTests {
    private let end = LocalEnd(transport: .udp, address: SocketAddress("192.0.2.1:5060")!, user: "bot")

    private func invite(_ rows: String...) -> Message {
        vector(
            octets(
                "INVITE sip:x@h SIP/2.0", "Via: SIP/2.0/UDP h;branch=z9hG4bK1", "From: \"A\" <sip:a@h>;tag=f", "To: <sip:x@h>",
                "Call-ID: d",
                "CSeq: 5 INVITE", "Contact: <sip:a@10.0.0.1:5070;transport=udp>;x=y" + rows.map { "\r\n" + $0 }.joined()))
    }

    private func response(_ request: Message, _ rows: String) -> Message {
        var writer = MessageWriter()
        writer.response(200, to: request, tag: [116], source: nil)
        writer.append(safe: "")
        for row in rows.split(separator: "|") {
            writer.append(Array(row.utf8))
            writer.endLine()
        }
        writer.finish()
        return vector(writer.octets)
    }

    private func parsed(_ request: OutgoingRequest) throws -> Message {
        let message = try Message(parsing: request.octets)
        try message.check()
        return message
    }

    @Test func b044CalledSideKeepsTheOrder() throws {
        var dialog = try Dialog(
            answering: invite("Record-Route: <sip:p2;lr>", "Record-Route: <sip:p1;lr>"), localTag: [121])
        let bye = try parsed(dialog.request(.bye, end: end, branch: Array("z9hG4bKb".utf8)))
        #expect(bye.headers("Route") == ["<sip:p2;lr>", "<sip:p1;lr>"])
        #expect(text(bye.requestURIOctets) == "sip:a@10.0.0.1:5070;transport=udp")
        #expect(bye.header("From") == "<sip:x@h>;tag=y" && bye.header("To") == "\"A\" <sip:a@h>;tag=f" && bye.cSeq == 1)
        #expect(text(dialog.nextHop) == "sip:p2;lr")
        #expect(try parsed(dialog.request(.info, end: end, branch: Array("z9hG4bKc".utf8))).cSeq == 2)
    }

    @Test func b046CallingSideReversesTheResponse() throws {
        let request = invite("Route: <sip:preloaded;lr>")
        let answer = response(request, "Record-Route: <sip:p1;lr>, <sip:p2;lr=on>|Contact: <sip:other@10.0.0.9>")
        let dialog = try Dialog(placing: OutgoingInvite(request), response: answer)
        let ack = try parsed(dialog.acknowledgement(cSeq: 5, end: end, branch: Array("z9hG4bKa".utf8)))
        #expect(ack.headers("Route") == ["<sip:p2;lr=on>", "<sip:p1;lr>"])
        #expect(text(ack.requestURIOctets) == "sip:other@10.0.0.9" && ack.cSeq == 5 && ack.cSeqMethod == .ack)
        #expect(ack.header("To") == "<sip:x@h>;tag=t")
    }

    @Test func b047RouteOfTheInviteIsNotCopied() throws {
        var dialog = try Dialog(answering: invite("Route: <sip:us;lr>"), localTag: [121])
        let bye = try parsed(dialog.request(.bye, end: end, branch: Array("z9hG4bKb".utf8)))
        #expect(!bye.has(.route))
    }

    @Test func strictRouting() throws {
        var dialog = try Dialog(answering: invite("Record-Route: <sip:strict>, <sip:loose;lr>"), localTag: [121])
        let bye = try parsed(dialog.request(.bye, end: end, branch: Array("z9hG4bKb".utf8)))
        #expect(text(bye.requestURIOctets) == "sip:strict")
        #expect(bye.headers("Route") == ["<sip:loose;lr>", "<sip:a@10.0.0.1:5070;transport=udp>"])
        #expect(text(dialog.nextHop) == "sip:strict")
    }

    @Test func numbersAndTarget() throws {
        var dialog = try Dialog(answering: invite(), localTag: [121])
        func request(_ method: String, _ cSeq: Int) -> Message {
            vector(
                octets(
                    "\(method) sip:bot@h SIP/2.0", "Via: SIP/2.0/UDP h;branch=z9hG4bK1", "From: <sip:a@h>;tag=f",
                    "To: <sip:x@h>;tag=y", "Call-ID: d",
                    "CSeq: \(cSeq) \(method)", "Contact: <sip:moved@10.0.0.2>"))
        }
        #expect(dialog.matches(request: request("BYE", 6)))
        let higher = dialog.accepts(request("INFO", 8))
        let lower = dialog.accepts(request("INFO", 7))
        let ack = dialog.accepts(request("ACK", 5))
        #expect(higher && !lower && ack)
        dialog.refreshTarget(request("INVITE", 9))
        #expect(text(dialog.remoteTarget) == "sip:moved@10.0.0.2")
        #expect(throws: ParseError.self) { try Dialog(answering: response(invite(), ""), localTag: []) }
    }

    @Test func screening() throws {
        let screening = RequestScreening(extensions: ["timer"])
        func verdict(_ message: Message) -> Int? { screening.refusal(of: message)?.status }
        #expect(verdict(invite()) == nil)
        let extended = try #require(screening.refusal(of: invite("Require: timer, 100rel", "Require: foo", "Proxy-Require: bar")))
        #expect(extended.status == 420 && text(extended.headers) == "Unsupported: 100rel, foo\r\n")
        #expect(verdict(invite("Proxy-Require: bar")) == nil)
        let body = try #require(screening.refusal(of: try Message(parsing: invite("c: text/x").octets + [65])))
        #expect(body.status == 415 && text(body.headers) == "Accept: \(screening.accept)\r\n")
        #expect(
            verdict(try Message(parsing: invite("c: text/x", "Content-Disposition: render;handling=optional").octets + [65]))
                == nil)
        #expect(verdict(try Message(parsing: invite().octets + [65])) == 415)
        #expect(verdict(invite("Accept: text/none")) == 406 && verdict(invite("Accept: text/none, application/sdp;x=1")) == nil)
        let other = try Message(parsing: octets("SUBSCRIBE sip:x@h SIP/2.0", "Require: foo"))
        #expect(verdict(other) == 405 && text(screening.refusal(of: other)!.headers).hasPrefix("Allow: INVITE, ACK, BYE"))
        #expect(verdict(try Message(parsing: octets("DANCE sip:x@h SIP/2.0"))) == 501)
    }

    @Test(.enabled(if: Corpus.isPresent, "skipped: ../shared/corpora is absent"))
    func screeningOfTheCorpora() throws {
        let screening = RequestScreening()
        let expected = [
            "sip-torture/rfc4475/bext01.dat": 420, "sip-torture/rfc4475/invut.dat": 415, "sip-torture/rfc4475/sdp01.dat": 406,
            "sip-torture/rfc4475/esc02.dat": 501, "sip-messages/146-body-without-content-type.sip": 415,
            "sip-messages/147-metadata-body-not-sdp.sip": 415, "sip-messages/143-siprec-multipart-length-first.sip": 420,
            "sip-messages/015-service-upper-case-names.sip": 501
        ]
        for (file, status) in expected {
            #expect(screening.refusal(of: try Message(parsing: try Corpus.octets(file)))?.status == status, "\(file)")
        }
    }
}
