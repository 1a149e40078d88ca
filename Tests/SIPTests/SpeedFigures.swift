// Figures, not a test: printed when RINGWRIGHT_FIGURES is set (run with `swift test -c release --filter SpeedFigures`).

import Basics
import Foundation
import SIP
import Testing

@Suite("SpeedFigures", .enabled(if: ProcessInfo.processInfo.environment["RINGWRIGHT_FIGURES"] != nil, "only on request"))
struct SpeedFigures {
    private func nanoseconds(_ name: String, _ rounds: Int = 300_000, _ body: () throws -> Void) rethrows {
        for _ in 0..<1000 { try body() }
        let clock = ContinuousClock()
        let start = clock.now
        for _ in 0..<rounds { try body() }
        print("\(name): \((clock.now - start).nanoseconds / Int64(rounds)) ns")
    }

    @Test func parseAndAnswer() throws {
        let source = SocketAddress("192.0.2.7:5062")!
        let octets = Vectors.invite
        var sum = 0
        try nanoseconds("parse INVITE") { sum += try Message(parsing: octets).rows.count }
        let message = try Message(parsing: octets)
        try nanoseconds("check") { try message.check() }
        try nanoseconds("top Via") { sum += Int(try message.topVia().port ?? 0) }
        nanoseconds("200 to it") {
            var writer = MessageWriter()
            writer.response(200, to: message, tag: [120, 121, 122, 123], source: source, recordRoute: true)
            writer.header("Contact", "<sip:192.0.2.1:5060>")
            writer.finish()
            sum += writer.octets.count
        }
        #expect(sum > 0)
    }
}
