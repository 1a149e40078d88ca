// The end of `ringwright serve`: what signals do, what its calls notice, and its exit status.

import Audio
import Basics
import CallEngine
import FlowEngine
import Foundation
import Reactor
import Server
import TestKit
import Testing
import Web

@Suite(.serialized) struct ServeProcessTests {
    static let holding =
        "flow: holds\nsections:\n  start:\n    - answer\n    - wait: 10m\n    - hangup\nalways:\n  - log: this was all\n"

    static func caller(_ wait: String) throws -> Flow {
        let text = "flow: calls\ndirection: outbound\nsections:\n  start:\n    - answer\n    - wait: \(wait)\n    - hangup\n"
        return try #require(FlowLoader.load(text: text, file: "calls").flow)
    }

    func party(trace: (@Sendable (TracedMessage) -> Void)? = nil) throws -> CallingParty {
        try CallingParty(Configuration(), listen: [.init(.udp, SocketAddress(ip: .loopback4, port: 0))], trace: trace)
    }

    func health(_ page: String, _ client: HTTPClient) async -> HTTPReply? {
        await withCheckedContinuation { continuation in
            client.start(HTTPCall("GET", "\(page)healthz")) { continuation.resume(returning: try? $0.get()) }
        }
    }

    /// A result that is lost is no success; a reader who has enough is no failure.
    @Test(arguments: [(">/dev/full", 3), ("| true", 0)])
    func aResultThatCannotBeWritten(redirection: String, status: Int32) throws {
        let files = try TemporaryFolder()
        let program = try PeerProgram(
            path: "/bin/bash", ["-c", "\"$0\" --help \(redirection); exit ${PIPESTATUS[0]}", PeerProgram.ringwright], in: files)
        #expect(program.wait(.seconds(30)) == status)
        #expect(program.output.contains("the result cannot be written: No space left on device") == (status == 3))
    }

    /// What is printed goes into no socket and no file that took the number of a closed stream.
    @Test func closedStreamsStayEmpty() throws {
        let server = try ServeProcess(flow: Self.holding, closing: "<&- >&-")
        _ = try #require(server.address, "\(server.stderr)")
        for stream in ["0", "1"] {
            let target = try FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/\(server.processIdentifier)/fd/\(stream)")
            #expect(target == "/dev/null")
        }
    }

    @Test func theFirstSignalDrainsTheSecondEnds() async throws {
        let server = try ServeProcess(flow: Self.holding)
        let address = try #require(server.address, "\(server.stderr)")
        let page = try #require(server.page)
        let messages = Locked([String]())
        let party = try party { message in messages.withLock { $0.append(String(decoding: message.bytes, as: UTF8.self)) } }
        defer { party.close() }
        let client = HTTPClient()
        defer { client.stopAndWait() }
        let order = CallingParty.Order(
            request: CallRequest(target: "sip:1@\(address)", from: "anna"), flow: try Self.caller("10m"))
        let isAnswered = Outcome<Void>()
        // Placed from a loop: the threads of the tasks' pool may be busy with other tests for longer than anybody waits.
        let loop = try EpollLoop(name: "test")
        try loop.start()
        defer { loop.stop(within: .seconds(10)) }
        let report = Outcome<CallingParty.Report?>()
        loop.execute {
            loop.spawn {
                let done = try? await party.place(
                    order, onState: { _, state in if state == .answered { isAnswered.set(()) } })
                report.set(done)
            }
        }
        try #require(isAnswered.wait(within: .seconds(30)) != nil)
        #expect(await health(page, client)?.status == 200)

        server.signal(SIGTERM)
        try #require(server.line(after: "no new calls; waiting for ")?.hasPrefix("1 to end") == true)
        let reply = try #require(await health(page, client))
        #expect(reply.status == 503)
        #expect(String(decoding: reply.body, as: UTF8.self).contains("\"status\":\"draining\""))
        messages.withLock { $0 = [] }
        let second = try await party.place(order)
        #expect(second.result.status == 503)
        #expect(messages.withLock { $0.contains { $0.hasPrefix("SIP/2.0 503") && $0.contains("\r\nRetry-After: 30\r\n") } })

        server.signal(SIGTERM)
        let first = try #require(report.wait(within: .seconds(30)) ?? nil)
        #expect(first.result.end.by == .callee && first.result.status == 200)
        #expect(messages.withLock { $0.contains { $0.hasPrefix("BYE ") } })
        #expect(server.status() == 1, "calls were cut: no success")
        let log = server.stderr
        #expect(log.contains("call ended") && log.contains("this was all") && log.contains("1 call was ended"))
    }

    @Test func drainingEndsWithTheLastCall() async throws {
        let server = try ServeProcess(flow: Self.holding)
        let address = try #require(server.address, "\(server.stderr)")
        let party = try party()
        defer { party.close() }
        let order = CallingParty.Order(
            request: CallRequest(target: "sip:1@\(address)", from: "anna"), flow: try Self.caller("1s"))
        let report = try await party.place(
            order, onState: { [pid = server.processIdentifier] _, state in if state == .answered { kill(pid, SIGTERM) } })
        #expect(report.result.verdict == .passed)
        #expect(server.status() == 0)
        let last = try #require(server.stderr.split(separator: "\n").last { $0.contains("call ended") })
        #expect(last.contains("flow=holds") && last.contains("by=caller") && last.contains("cause=normal"))
    }

    @Test func withoutCallsItEndsAtOnce() throws {
        let server = try ServeProcess(flow: Self.holding)
        _ = try #require(server.page, "\(server.stderr)")
        server.signal(SIGINT)
        #expect(server.status() == 0)
    }

    @Test func anAddressOfAnotherMachine() throws {
        let server = try ServeProcess(flow: Self.holding, sip: "udp:192.0.2.77:5060")
        #expect(server.status() == 3)
        #expect(server.stderr.contains("192.0.2.77:5060: Cannot assign requested address; name an address of this machine"))
    }

    @Test func aTakenPortAndAReload() throws {
        let first = try ServeProcess(flow: Self.holding)
        let address = try #require(first.address, "\(first.stderr)")
        _ = try #require(first.page)
        let second = try ServeProcess(flow: Self.holding, sip: "udp:\(address)")
        #expect(second.status() == 3)
        #expect(second.stderr.contains("ringwright: SIP cannot listen on \(address): Address already in use; end the program"))

        try first.write("log: { level: info }\nlimits: { calls: 3 }\n", "ringwright.yaml")
        first.signal(SIGHUP)
        #expect(first.line(after: "configuration reloaded changed=") == "limits")
        try first.write(Self.holding.replacing("10m", with: "11m"), "flow.yaml")
        #expect(first.line(after: "flows reloaded files=")?.hasSuffix("flow.yaml") == true)
        first.signal(SIGTERM)
        #expect(first.status() == 0)
    }

    /// What cannot be written says so in the log. /dev/full takes nothing, as a full disk does.
    @Test func aRecordingOnAFullDiskTellsItsReason() async throws {
        let flow = "flow: records\nsections:\n  start:\n    - answer\n    - record: { to: full, max: 1s }\n    - hangup\n"
        let server = try ServeProcess(flow: flow, configuration: "recordings: /dev\n")
        let address = try #require(server.address, "\(server.stderr)")
        let party = try party()
        defer { party.close() }
        let order = CallingParty.Order(
            request: CallRequest(target: "sip:1@\(address)", from: "anna"), flow: try Self.caller("30s"))
        let report = try await party.place(order)
        #expect(report.result.end.by == .callee)
        let line = try #require(server.line(after: "recorded, not complete"))
        #expect(line.contains("file=full") && line.contains("No space left on device"), "\(line)")
        server.signal(SIGTERM)
        #expect(server.status() == 0)
    }

    /// Recordings can be played after a kill: all but their last second and a half.
    @Test func recordingsOutliveAKill() async throws {
        let flow = """
            flow: records
            sections:
              start:
                - answer
                - record: { to: "${call.to.user}", background: true }
                - wait: 3s
                - log: three seconds passed
                - wait: 30s
            """
        let server = try ServeProcess(flow: flow, configuration: "recordings: recordings\n")
        let address = try #require(server.address, "\(server.stderr)")
        let party = try party()
        defer { party.close() }
        let loop = try EpollLoop(name: "test")
        try loop.start()
        defer { loop.stop(within: .seconds(10)) }
        let names = ["all.wav", "all.opus", "all.flac"]
        for name in names {
            let order = CallingParty.Order(
                request: CallRequest(target: "sip:\(name)@\(address)", from: "anna"), flow: try Self.caller("4s"))
            loop.execute { loop.spawn { _ = try? await party.place(order) } }
        }
        #expect(server.says("three seconds passed", times: 3))
        server.signal(SIGKILL)
        _ = server.status()
        for name in names {
            let length = try PromptFile.read(server.folder.appendingPathComponent("recordings/\(name)").path).length
            #expect(length >= .milliseconds(1500) && length < .seconds(10), "\(name): \(length)")
        }
    }
}
