// Traces as the commands write them: `call --trace`, `serve --trace`, and what a change of `trace` does to a server that runs.

import Foundation
import Server
import Testing

@Suite(.serialized) struct TraceProcessTests {
    private static let flow = "flow: answers\nsections:\n  start:\n    - answer\n    - wait: 10m\n"
    private static let files = ["call.pcap", "ladder.svg", "ladder.txt", "messages.txt"]

    /// `ringwright call` to a server, which it hangs up on.
    private func call(_ server: ServeProcess, _ options: String...) async throws -> CommandOutcome {
        let address = try #require(server.address, "\(server.stderr)")
        let words = ["call", "sip:1@\(address)", "--duration", "200ms"] + options
        guard case .run(let arguments) = try CommandList.choose(words) else { throw CommandFailure(.wrong, "no run") }
        return try await CallCommand.run(CallOptions(arguments)) { _ in }
    }

    private func traces(in server: ServeProcess, _ folder: String) -> [URL] {
        let path = server.folder.appending(path: folder)
        return ((try? FileManager.default.contentsOfDirectory(at: path, includingPropertiesForKeys: nil)) ?? [])
            .sorted { $0.path() < $1.path() }
    }

    /// What happened, a line each: methods and statuses in their order.
    private func messages(_ trace: URL) -> [String] {
        let text = (try? String(contentsOf: trace.appending(path: "messages.txt"), encoding: .utf8)) ?? ""
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return zip(lines, lines.dropFirst()).filter { $0.0.hasPrefix("--- ") }.map {
            let words = $0.1.split(separator: " ")
            return words.first == "SIP/2.0" ? String(words[1]) : String(words.first ?? "")
        }
    }

    @Test func bothSidesHaveTheWholeCall() async throws {
        let server = try ServeProcess(flow: Self.flow, arguments: ["--trace", "FOLDER/served"])
        let outcome = try await call(server, "--trace", server.folder.appending(path: "called").path())
        #expect(outcome.status == .passed, "\(outcome)")
        let called = try #require(traces(in: server, "called").first)
        #expect(outcome.note == "trace: \(called.path())".trimmingSuffix("/"))
        #expect(messages(called) == ["INVITE", "200", "ACK", "BYE", "200"], "its own BYE is answered before it ends")
        #expect(server.says("call traced"), "\(server.stderr)")
        server.signal(SIGTERM)
        #expect(server.status() == 0)
        let served = traces(in: server, "served")
        #expect(served.map(messages) == [["INVITE", "200", "ACK", "BYE", "200"]])
        for trace in [called] + served {
            #expect(try FileManager.default.contentsOfDirectory(atPath: trace.path()).sorted() == Self.files)
        }
    }

    @Test func aReloadTurnsTracesOnAndOff() async throws {
        let server = try ServeProcess(flow: Self.flow)
        func reload(_ configuration: String, _ count: Int) throws {
            try server.write(configuration, "ringwright.yaml")
            server.signal(SIGHUP)
            try #require(server.says("configuration reloaded changed=trace\n", times: count), "\(server.stderr)")
        }
        #expect(try await call(server).status == .passed)
        try reload("trace: { folder: traces, media: false }\n", 1)
        #expect(try await call(server).status == .passed)
        try reload("log: { level: info }\n", 2)
        #expect(try await call(server).status == .passed)
        server.signal(SIGTERM)
        #expect(server.status() == 0)
        // What ends with the server is written: the second call is there, and no other.
        let found = traces(in: server, "traces")
        #expect(found.map(messages) == [["INVITE", "200", "ACK", "BYE", "200"]])
        #expect(server.stderr.components(separatedBy: "call traced").count == 2, "\(server.stderr)")
    }

    @Test func aFolderThatCannotBeWrittenIsSaid() async throws {
        let server = try ServeProcess(flow: Self.flow, arguments: ["--trace", "/dev/null/traces"])
        #expect(try await call(server).status == .passed, "the call goes on all the same")
        let line = try #require(server.line(after: "call not traced"))
        #expect(line.contains("Not a directory"), "\(line)")
        server.signal(SIGTERM)
        #expect(server.status() == 0)
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String { hasSuffix(suffix) ? String(dropLast(suffix.count)) : self }
}
