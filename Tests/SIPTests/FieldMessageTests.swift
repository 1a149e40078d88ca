// Messages with odd traits seen in the field: each file's verdict, and the values of its `expect` that concern this module.

import Basics
import Foundation
import SIP
import Testing

@Suite("Field messages", .enabled(if: Corpus.isPresent, "skipped: ../shared/corpora is absent"))
struct FieldMessageTests {
    private func row(_ file: String) -> [String: Any]? {
        Corpus.manifest("sip-messages/manifest.json").first { $0["file"] as? String == file }
    }

    /// Refused above this module (no Content-Type), or only where the odd value is asked for.
    static let refusedElsewhere: Set<String> = ["146", "115"]

    @Test("Verdict", arguments: Corpus.field)
    func verdict(file: String) throws {
        let row = try #require(self.row(file))
        let verdict = row["verdict"] as? String ?? ""
        let octets = try Corpus.octets("sip-messages/" + file)
        if file.hasSuffix(".stream") { return try framing(octets, row["expect"] as? [String: Any] ?? [:], verdict) }
        var message: Message?
        var fault: ParseError?
        do throws(ParseError) {
            message = try Message(parsing: octets)
            try message!.check()
        } catch {
            fault = error
        }
        switch verdict {
        case "reject" where !Self.refusedElsewhere.contains(String(file.prefix(3))):
            #expect(fault != nil)
            if let message, message.isRequest { #expect(fault?.status == 400) }
        case "reject": break
        default: #expect(fault == nil, "\(String(describing: fault))")
        }
        if verdict != "reject", let message { try values(message, row["expect"] as? [String: Any] ?? [:]) }
    }

    private func framing(_ octets: [UInt8], _ expect: [String: Any], _ verdict: String) throws {
        for step in [octets.count, 1, 7] {
            var framer = StreamFramer()
            var bodies: [Int] = []
            var isBroken = false
            for start in stride(from: 0, to: octets.count, by: step) {
                framer.append(octets[start..<min(start + step, octets.count)])
                while let event = framer.next() {
                    switch event {
                    case .message(let message):
                        #expect(message.defect == nil)
                        bodies.append(message.bodyRange.count)
                    case .broken: isBroken = true
                    default: break
                    }
                }
            }
            if verdict == "reject" { #expect(isBroken) } else { #expect(!isBroken) }
            if let messages = expect["messages"] as? Int { #expect(bodies.count == messages) }
            if let lengths = expect["body.lengths"] as? [Int] { #expect(bodies == lengths) }
            if let left = expect["left"] as? String { #expect(framer.bufferedCount == left.utf8.count) }
        }
    }

    /// Compares a parameter list with an object of the manifest (null: no value).
    private func compare(_ all: [(name: String, value: String?)], _ expected: Any, _ key: String) {
        guard let expected = expected as? [String: Any] else { return }
        for (name, value) in expected {
            let found = all.first { $0.name.lowercased() == name.lowercased() }
            #expect(found != nil, "\(key): \(name)")
            #expect(found?.value == value as? String, "\(key): \(name)")
        }
    }

    private func strings(_ value: Any) -> [String] { value as? [String] ?? [] }

    // One case a key of the manifest.
    // swift-format-ignore
    private func values(_ message: Message, _ expect: [String: Any]) throws {
        for (key, value) in expect {
            let string = value as? String
            let number = value as? Int
            switch key {
            case "start":
                let start = message.isRequest ? "\(message.methodName) \(text(message.requestURIOctets))" : "\(message.status)"
                #expect(start == string)
            case "ruri": #expect(text(message.requestURIOctets) == string)
            case "ruri.user":
                #expect(try message.requestURI().user == string?.replacingOccurrences(of: " (decoded)", with: ""))
            case "from.display": #expect(try message.from().displayName == string)
            case "to.display": #expect(try message.to().displayName == string)
            case "from.uri": #expect(try message.from().uri().description == string)
            case "to.uri": #expect(try message.to().uri().description == string)
            case "from.tag": #expect(try message.from().tag.map { text($0) } == string)
            case "to.tag": #expect(try message.to().tag.map { text($0) } == string)
            case "from.uri.user":
                #expect(try message.from().uri().user == (string == "empty" ? "" : string))
            case "from.uri.params": compare(try message.from().uri().parameters, value, key)
            case "to.uri.params": compare(try message.to().uri().parameters, value, key)
            case let name where name.hasPrefix("from.params."):
                compare(try message.from().parameters.all, [String(name.dropFirst(12)): value], key)
            case let name where name.hasPrefix("to.params."):
                compare(try message.to().parameters.all, [String(name.dropFirst(10)): value], key)
            case "contact.count": #expect(try message.contacts().count == number)
            case "contact[0].uri": #expect(try message.contacts()[0].uri().description == string)
            case "contact[0].uri.user": #expect(try message.contacts()[0].uri().user == string)
            case "contact[0].uri.host": #expect(try message.contacts()[0].uri().host == string)
            case "contact[0].params": compare(try message.contacts()[0].parameters.all, value, key)
            case "contact[1].display": #expect(try message.contacts()[1].displayName == string)
            case let name where name.hasPrefix("contact[0].params."):
                compare(try message.contacts()[0].parameters.all, [String(name.dropFirst(18)): value], key)
            case let name where name.hasPrefix("contact[1].params."):
                compare(try message.contacts()[1].parameters.all, [String(name.dropFirst(18)): value], key)
            case let name where name.hasPrefix("contact[0].uri.params."):
                #expect(try message.contacts()[0].uri().parameter(String(name.dropFirst(22))) == string)
            case "via.count": #expect(try message.vias().count == number)
            case "via[0].host": #expect(try message.topVia().host == string)
            case "via[0].port": #expect(try message.topVia().port.map { Int($0) } == number)
            case "via[1].port": #expect(try message.vias()[1].port.map { Int($0) } == number)
            case "via[0].params": compare(try message.topVia().parameters.all, value, key)
            case "via[0].params.branch", "transaction.branch": #expect(try text(message.topVia().branch) == string)
            case "via[0].params.received": #expect(try message.topVia().received?.description == string)
            case "cseq.num": #expect(Int(message.cSeq) == number)
            case "cseq.method": #expect(text(message[message.cSeqMethodRange]) == string)
            case "call_id": #expect(text(message.callID) == string)
            case "call_id.length": #expect(message.callID.count == number)
            case "reason": #expect(message.reasonPhrase == string)
            case "body.length": if let number { #expect(message.bodyRange.count == number) }
            case "content_length": #expect(message.contentLength == number)
            case "content_type": #expect(message.contentType == string)
            case "expires": #expect(message.number(.expires) == number)
            case "allow": #expect(message.tokens(.allow) == strings(value))
            case "allow.count": #expect(message.tokens(.allow).count == number)
            case "supported": #expect(message.tokens(.supported) == strings(value))
            case "record_route.count": #expect(try message.addresses(.recordRoute).count == number)
            case "record_route[1]": #expect(try message.addresses(.recordRoute)[1].uri().description == string)
            case "route_set":
                #expect(try message.addresses(.recordRoute).reversed().map { try $0.uri().description } == strings(value))
            case "remote_target", "next_url": #expect(try message.contacts()[0].uri().description == string)
            case "pai.count": #expect(try message.addresses(.pAssertedIdentity).count == number)
            case "pai[0].display": #expect(try message.addresses(.pAssertedIdentity)[0].displayName == string)
            case "pai[1].uri": #expect(try message.addresses(.pAssertedIdentity)[1].uri().description == string)
            case "diversion.count": #expect(try message.addresses(.diversion).count == number)
            case "diversion[0].params.reason":
                #expect(try message.addresses(.diversion)[0].parameters["reason"].map { text($0) } == string)
            case "diversion[1].uri.user": #expect(try message.addresses(.diversion)[1].uri().user == string)
            case "history_info.count": #expect(try message.addresses(.historyInfo).count == number)
            case "history_info[0].uri.headers.reason":
                #expect(try message.addresses(.historyInfo)[0].uri().headers.first?.value == string)
            case "history_info[1].uri.headers.Reason":
                #expect(try message.addresses(.historyInfo)[1].uri().headers.first?.value == string)
            case "history_info[1].params.index":
                #expect(try message.addresses(.historyInfo)[1].parameters["index"].map { text($0) } == string)
            case "identity.params.ppt": #expect(message.parameters(.identity)?["ppt"].map { text($0) } == string)
            case "hdr.x-twilio-calltoken.length": #expect(message.header("X-Twilio-CallToken")?.utf8.count == number)
            case "hdr.referred-by": #expect(message.header("Referred-By") == string)
            case "hdr.p-asserted-identity":
                #expect(try message.addresses(.pAssertedIdentity)[0].uri().description == string)
            default: break  // SDP, digests (DigestTests), prose
            }
        }
    }
}
