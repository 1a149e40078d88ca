// `load` against a real phone: baresip answers by itself, hears what is played to it, and is heard.

import Foundation
import Server
import TestKit
import Testing

@Suite("load against baresip", .serialized, .enabled(if: Baresip.isInstalled, "baresip is not installed"))
struct LoadBaresipTests {
    @Test func oneCallAfterTheOther() async throws {
        let baresip = try Baresip(speaking: "probe")
        let prompt = Files.root.appendingPathComponent("prompts/welcome.wav").path
        let result = try await LoadPeerTests.load(
            baresip.port, ["--users", "1", "--calls", "2", "--pause", "500ms", "--hold", "3s", "--prompt", prompt], user: "bot")
        #expect((result.count("placed"), result.count("answered"), result.count("failed")) == (2, 2, 0), "\(baresip.output)")
        #expect(result["media", "one_way"] as? Int == 0)
        // Two calls of three seconds, fifty packets a second.
        #expect(try #require(result["media", "received"] as? Int) > 200)
        #expect((result["media", "mos", "p5"] as? Double ?? 0) > 3)
        expectHeard("welcome", in: baresip.stopAndListen(), not: "menu")
    }
}
