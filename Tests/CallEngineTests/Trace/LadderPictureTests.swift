import Basics
import CallEngine
import Foundation
import FoundationXML
import Testing

@Suite struct LadderPictureTests {
    private func message(_ text: String, _ direction: TracedMessage.Direction, _ remote: String, at milliseconds: Int)
        -> TracedMessage
    {
        TracedMessage(
            at: .zero + .milliseconds(milliseconds), direction: direction, local: SocketAddress("192.0.2.1:5060")!,
            remote: SocketAddress(remote)!, bytes: Array(text.utf8))
    }

    private func ladder() -> CallLadder {
        var ladder = CallLadder(direction: .inbound, start: .zero)
        ladder.add(message("INVITE sip:<&\"\u{1}\u{7}ä@b SIP/2.0\r\nCSeq: 1 INVITE\r\n\r\n", .received, "192.0.2.7:5060", at: 0))
        ladder.add(message("SIP/2.0 180 Ringing\r\nCSeq: 1 INVITE\r\n\r\n", .sent, "192.0.2.7:5060", at: 12))
        ladder.add(message("BYE sip:x SIP/2.0\r\n\r\n", .received, "198.51.100.9:5060", at: 61_234))
        ladder.note("the end <is> near & known")
        return ladder
    }

    @Test func thePartiesAreInTheOrderInWhichTheyCame() {
        #expect(ladder().names == ["192.0.2.7:5060", "ringwright 192.0.2.1:5060", "198.51.100.9:5060"])
        let lines = ladder().text.split(separator: "\n")
        #expect(lines.count == 5)
        for line in lines.dropFirst() {
            #expect(line.enumerated().filter { $0.element == "│" }.map(\.offset) == [4, 40, 76], "\(line)")
        }
        #expect(lines[1].contains("▶│") && lines[2].contains("│◀") && lines[3].hasSuffix("61.234 s"))
    }

    /// A message of a third party reaches over the upright between.
    @Test func anArrowReachesOverOthers() {
        var ladder = CallLadder(direction: .outbound, start: .zero)
        for port in ["192.0.2.7:1", "192.0.2.8:1", "192.0.2.9:1"] {
            ladder.add(message("BYE sip:x SIP/2.0\r\n\r\n", .sent, port, at: 0))
        }
        let lines = ladder.text.split(separator: "\n").map { line in line.enumerated().filter { $0.element == "│" }.map(\.offset)
        }
        #expect(lines == [[], [4, 40, 76, 112], [4, 76, 112], [4, 112]])
    }

    @Test func thePictureIsXMLWithAllThatPassed() throws {
        let svg = LadderPicture(ladder(), title: "call <1> & more").svg
        let parser = XMLParser(data: Data(svg.utf8))
        let reader = Reader()
        parser.delegate = reader
        #expect(parser.parse(), "\(parser.parserError as Any)")
        #expect(reader.elements.first == "svg")
        #expect(
            reader.text.contains("call <1> & more") && reader.text.contains("180 Ringing") && reader.text.contains("61.234 s"))
        #expect(reader.text.contains("the end <is> near & known"))
        // Three uprights and three arrows.
        #expect(reader.elements.filter { $0 == "line" }.count == 6)
    }

    /// What a trace keeps has an end, whatever a peer sends.
    @Test func aFloodHasAnEnd() {
        var ladder = CallLadder(direction: .inbound, start: .zero)
        for _ in 0..<5000 { ladder.add(message("BYE sip:x SIP/2.0\r\n\r\n", .received, "192.0.2.7:5060", at: 0)) }
        #expect(ladder.rows.count == 2000)
    }

    private final class Reader: NSObject, XMLParserDelegate {
        var elements: [String] = []
        var text = ""

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String] = [:]
        ) { elements.append(name) }

        func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }
    }
}
