// RFC 4475 and RFC 5118, message by message: the verdict of the RFC for a UA that serves requests.

import Basics
import SIP
import Testing

@Suite("Torture messages", .enabled(if: Corpus.isPresent, "skipped: ../shared/corpora is absent"))
struct TortureTests {
    /// Statuses a server may answer; a message that isn't listed must pass `check()`. 0: dropped.
    static let refusals: [String: Set<Int>] = [
        "badinv01": [400], "clerr": [400], "ncl": [400], "quotbal": [400], "ltgtruri": [400], "lwsruri": [400],
        "lwsstart": [400], "escruri": [400], "regbadct": [400], "badaspec": [400], "baddn": [400], "badvers": [505],
        "mismatch01": [400], "mismatch02": [501, 400], "bigcode": [0], "insuf": [400], "unkscm": [416], "novelsc": [416],
        "multi01": [400], "mcl01": [400], "ipv6-bad": [400]
    ]
    /// The RFC leaves both ways open.
    static let either: Set<String> = ["ipv6-bug-abnf-3-colons"]

    @Test("Verdict", arguments: Corpus.torture)
    func verdict(file: String) throws {
        let octets = try Corpus.octets("sip-torture/" + file)
        let name = String(file.split(separator: "/").last!.dropLast(4))
        let answer: Int?
        do throws(ParseError) {
            let message = try Message(parsing: octets)
            do throws(ParseError) {
                try message.check()
                answer = nil
            } catch {
                answer = message.isRequest ? error.status : 0
            }
        } catch {
            answer = 0
        }
        if Self.either.contains(name) { return }
        if let allowed = Self.refusals[name] {
            #expect(answer.map { allowed.contains($0) } == true, "\(name): \(String(describing: answer))")
        } else {
            #expect(answer == nil, "\(name): \(String(describing: answer))")
        }
    }

    private func message(_ name: String) throws -> Message {
        try Message(parsing: try Corpus.octets("sip-torture/\(name).dat"))
    }

    @Test func wsinv() throws {
        let message = try message("rfc4475/wsinv")
        #expect(message.number(.maxForwards) == 68)
        #expect(message.cSeq == 9 && message.cSeqMethod == .invite)
        let vias = try message.vias()
        #expect(vias.map(\.host) == ["192.0.2.2", "spindle.example.com", "192.168.255.111"])
        #expect(vias.map(\.transport) == [.udp, .tcp, .udp])
        #expect(vias.map { text($0.branch) } == ["390skdjuw", "z9hG4bK9ikj8", "z9hG4bK30239"])
        #expect(try message.from().displayName == "J Rosenberg \\\"")
        #expect(try message.to().tag.map { text($0) } == "1918181833n")
        let contact = try #require(try message.contacts().first)
        #expect(contact.parameters["q"].map { text($0) } == "0.33")
        #expect(contact.parameters.find("secondparam")?.value == nil && contact.parameters.has("secondparam"))
        #expect(message.header("UnknownHeaderWithUnusualValue") == ";;,,;;,;")
        #expect(message.header("NewFangledHeader") == "newfangled value continued newfangled value")
        let route = try #require(try message.addresses(.route).first)
        #expect(try route.uri().isLooseRouter)
        #expect(message.bodyRange.count == 150)
    }

    @Test func escapes() throws {
        let first = try message("rfc4475/esc01")
        #expect(try first.requestURI().user == "sips:user@example.com")
        #expect(try first.to().uri().user == "user")
        #expect(try first.from().uri().user == "I have spaces")
        let contact = try #require(try first.contacts().first).uri()
        #expect(contact.user == "caller" && contact.isLooseRouter && contact.parameter("name") == "value%41")
        let second = try message("rfc4475/esc02")
        #expect(second.method == .other && second.methodName == "RE%47IST%45R")
        #expect(try second.contacts().count == 2)
        #expect(second.rows.contains { text(second[$0.name]) == "C%6Fntact" && $0.kind == .other })
    }

    @Test func longAndListed() throws {
        let long = try message("rfc4475/longreq")
        #expect(try long.vias().count == 34)
        #expect(long.cSeq == 3_882_340 && long.bodyRange.count == 150)
        #expect((try long.from().tag?.count ?? 0) > 100)
        let semicolon = try message("rfc4475/semiuri")
        #expect(try semicolon.requestURI().user == "user;par=u@example.net")
        #expect(semicolon.values(.accept).count == 6)
        #expect(try message("rfc4475/transports").vias().count == 5)
        #expect(try message("rfc4475/noreason").reasonPhrase == "")
        #expect(try message("rfc4475/lwsdisp").from().displayName == "caller")
        #expect(try message("rfc4475/bext01").tokens(.require) == ["nothingSupportsThis", "nothingSupportsThisEither"])
        let legacy = try message("rfc4475/inv2543")
        #expect(try !legacy.topVia().hasCookie && legacy.from().tag == nil && legacy.bodyRange.count > 0)
        #expect(try !message("rfc4475/badbranch").topVia().hasCookie)
    }

    @Test func internetProtocol6() throws {
        #expect(try message("rfc5118/port-ambiguous").requestURI().host == "[2001:db8::10:5070]")
        #expect(try message("rfc5118/port-ambiguous").requestURI().port == nil)
        #expect(try message("rfc5118/port-unambiguous").requestURI().port == 5070)
        let received = "2001:db8::9:255"
        #expect(try message("rfc5118/via-received-param-with-delim").topVia().received?.description == received)
        #expect(try message("rfc5118/via-received-param-no-delim").topVia().received?.description == received)
        let vias = try message("rfc5118/mult-ip-in-header").vias()
        #expect(vias.map(\.port) == [6050, nil, nil] && vias.map(\.transport) == [.udp, .udp, .tcp])
        #expect(try message("rfc5118/ipv6-in-sdp").bodyRange.count == 241)
    }
}
