// Parsing of our own vectors, building of responses, and the property that what parses serializes and parses to the same.

import Basics
import SIP
import Testing

struct OwnVectorTests {
    @Test(arguments: Vectors.accepted.map(\.0))
    func accepted(kind: String) throws {
        let message = try Message(parsing: Vectors.accepted.first { $0.0 == kind }!.1)
        try message.check()
        try #expect(!message.vias().isEmpty)
    }

    @Test(arguments: Vectors.refused.map(\.0))
    func refused(kind: String) throws {
        let vector = Vectors.refused.first { $0.0 == kind }!
        let message = try Message(
            parsing: octets(vector.1, Vectors.head, vector.2.joined(separator: "\r\n")))
        do {
            try message.check()
            Issue.record("\(kind) was taken")
        } catch {
            #expect(error.status == vector.3)
            // Whatever is wrong with it, an answer can be built and is itself well-formed where the request's rows are.
            let answer = try Message(parsing: message.response(error.status, tag: [116]))
            #expect(answer.status == vector.3 && text(answer.callID) == "r")
        }
    }

    @Test func garbageIsThrownOut() {
        for octets in Vectors.garbage { #expect(throws: ParseError.self) { try Message(parsing: octets) } }
    }

    @Test func limits() {
        var limits = MessageLimits()
        limits.headerCount = 5
        #expect(throws: ParseError.self) { try Message(parsing: Vectors.invite, limits: limits) }
        limits = MessageLimits()
        limits.messageSize = 100
        #expect(throws: ParseError.self) { try Message(parsing: Vectors.invite, limits: limits) }
    }

    @Test func responseCopiesAndFillsVia() throws {
        let request = try Message(parsing: Vectors.invite)
        let source = try #require(SocketAddress("198.51.100.9:6000"))
        var writer = MessageWriter()
        writer.response(200, to: request, tag: [120, 121], source: source)
        writer.header("Contact", "<sip:192.0.2.1>")
        writer.finish(body: [1, 2, 3], type: "application/sdp")
        let response = try Message(parsing: writer.octets)
        try response.check()
        #expect(response.header("Via") == "SIP/2.0/UDP 192.0.2.7:5062;branch=z9hG4bKown1;rport=6000;received=198.51.100.9")
        #expect(response.header("To") == "<sip:reception@example.com>;tag=xy")
        #expect(response.header("From") == "\"Ada L.\" <sip:ada@example.net>;tag=a1")
        #expect(response.body.elementsEqual([1, 2, 3]) && response.contentLength == 3)
        // Several values in one row: only the first is touched; a semicolon at the end goes away.
        let listed = try Message(
            parsing: octets(
                "BYE sip:x@h SIP/2.0", "Via: SIP/2.0/UDP 192.0.2.7;branch=z9hG4bK1; , SIP/2.0/TCP b;branch=z9hG4bK2",
                "From: <sip:a@h>;tag=1",
                "To: <sip:x@h>;tag=t", "Call-ID: 1", "CSeq: 1 BYE"))
        let answer = try Message(parsing: listed.response(481, tag: [122], source: source))
        let rows = answer.headers("via")
        #expect(rows == ["SIP/2.0/UDP 192.0.2.7;branch=z9hG4bK1;received=198.51.100.9, SIP/2.0/TCP b;branch=z9hG4bK2"])
        #expect(answer.header("To") == "<sip:x@h>;tag=t")
    }

    @Test func headersCannotBeInjected() throws {
        var writer = MessageWriter()
        writer.append("OPTIONS sip:x@h SIP/2.0\r\n")
        writer.header("Subject", text: "a\r\nEvil: 1\n\nb")
        let wasTaken = writer.header(named: "X-Bad:\r\nEvil", text: "1")
        #expect(!wasTaken)
        writer.header(named: "X-Good", text: "2")
        writer.finish()
        let message = try Message(parsing: writer.octets)
        #expect(message.header("Evil") == nil && message.header("x-good") == "2")
        #expect(message.header("Subject") == "a  Evil: 1  b")
    }

    @Test func compareURIs() throws {
        let same = [
            ("sip:%61lice@atlanta.example;transport=TCP", "sip:alice@AtLanTa.example;Transport=tcp"),
            ("sip:carol@chicago.example", "sip:carol@chicago.example;newparam=5"),
            (
                "sip:biloxi.example;transport=tcp;method=REGISTER?to=sip:bob%40biloxi.example",
                "sip:biloxi.example;method=REGISTER;transport=tcp?to=sip:bob%40biloxi.example"
            ),
            ("sip:alice@h?subject=a&priority=b", "sip:alice@h?priority=b&subject=a"),
            ("sip:a@h;user=phone;user=ip", "sip:a@h;user=phone;user=ip")
        ]
        for (left, right) in same { #expect(try URI(left).isEquivalent(to: URI(right)), "\(left) \(right)") }
        let different = [
            ("sip:ALICE@h", "sip:alice@h"), ("sip:bob@h", "sip:bob@h:5060"), ("sip:bob@h", "sip:bob@h;transport=udp"),
            ("sip:bob@h", "sips:bob@h"), ("sip:bob@h;newparam=5", "sip:bob@h;newparam=6"), ("sip:bob@h", "sip:bob@h?subject=x"),
            ("sip:h", "sip:bob@h"), ("sip:bob@h:6000", "sip:bob@h")
        ]
        for (left, right) in different { #expect(try !URI(left).isEquivalent(to: URI(right)), "\(left) \(right)") }
        let long = try URI("sips:u:p@[2001:db8::1]:5099;lr;x=%41?a=%20b&c=d")
        #expect(long.user == "u" && long.host == "[2001:db8::1]" && long.port == 5099 && long.isLooseRouter)
        #expect(long.parameter("x") == "A" && long.headers.map(\.value) == [" b", "d"])
    }

    @Test func values() throws {
        let message = try Message(
            parsing: octets(
                "PRACK sip:x@h SIP/2.0", "RAck: 776656 1 INVITE", "Reason: Q.850 ;cause=16 ;text=\"ok\", SIP;cause=200",
                "x: 90;refresher=uac",
                "Retry-After: 18 (soon)", "Require: 100rel ,  timer", "Require: x", "c: Application / SDP ;charset=utf-8",
                "Expires: x"))
        let rack = try #require(message.rAck())
        #expect(rack.rSeq == 776_656 && rack.cSeq == 1 && rack.method == "INVITE")
        #expect(message.reasons().map(\.cause) == [16, 200])
        #expect(
            message.number(.sessionExpires) == 90 && message.parameters(.sessionExpires)?["refresher"].map { text($0) } == "uac")
        #expect(message.number(.retryAfter) == 18 && message.number(.expires) == nil)
        #expect(message.tokens(.require) == ["100rel", "timer", "x"] && message.lists(.require, "timer"))
        #expect(message.contentType == "application/sdp")
    }

    /// Writes a message anew from what its index says.
    private func serialized(_ message: Message) -> [UInt8] {
        var writer = MessageWriter()
        if message.isRequest {
            writer.append(message[message.methodRange])
            writer.append(" ")
            writer.append(message[message.startRange])
            writer.append(" SIP/2.0\r\n")
        } else {
            writer.append("SIP/2.0 ")
            writer.append(message.status)
            writer.append(" ")
            writer.append(message[message.startRange])
            writer.endLine()
        }
        for row in message.rows {
            writer.append(message[row.name])
            writer.append(": ")
            writer.append(message[row.value])
            writer.endLine()
        }
        writer.endLine()
        writer.append(message.body)
        return writer.octets
    }

    @Test func whatParsesSerializesToTheSame() throws {
        var random = SeededRandom(seed: 4)
        let separators: [UInt8] = Array("\r\n;:,<>\"@ =\\%[]?&/".utf8) + [0, 255, 9]
        var taken = 0
        for round in 0..<6000 {
            var octets = Vectors.accepted[round % Vectors.accepted.count].1
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let place = Int.random(in: 0..<octets.count, using: &random)
                let octet = separators.randomElement(using: &random)!
                switch Int.random(in: 0..<4, using: &random) {
                case 0: octets[place] = octet
                case 1: octets.insert(octet, at: place)
                case 2: octets.remove(at: place)
                default: octets = Array(octets[..<place]) + octets.suffix(Int.random(in: 1..<octets.count, using: &random))
                }
            }
            guard let message = try? Message(parsing: octets), (try? message.check()) != nil else { continue }
            taken += 1
            let again = try Message(parsing: serialized(message))
            try again.check()
            #expect(again.method == message.method && again.status == message.status && again.cSeq == message.cSeq)
            #expect(again.rows.count == message.rows.count && again.body.elementsEqual(message.body))
            for (left, right) in zip(message.rows, again.rows) {
                #expect(left.kind == right.kind && message[left.value].elementsEqual(again[right.value]), "round \(round)")
            }
            #expect(try text(message.topVia().branch) == text(again.topVia().branch))
            #expect(try message.from().displayName == again.from().displayName)
            // And an answer to it is taken too.
            if message.isRequest {
                let answer = try Message(parsing: message.response(200, tag: [65], source: SocketAddress("192.0.2.99:1")!))
                #expect(throws: Never.self, "round \(round)") { try answer.check() }
            }
        }
        #expect(taken > 1500)
    }
}
