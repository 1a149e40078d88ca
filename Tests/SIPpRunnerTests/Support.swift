// Runs on a virtual loop: several ends of a scenario in one test, in virtual time over an in-memory network.

import Basics
import Foundation
import Reactor
import SIP
import SIPpRunner
import Testing

/// A folder that goes with its object.
final class ScratchFolder {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("ringwright-sipp-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    func write(_ text: String, _ name: String) throws -> String {
        try Data(text.utf8).write(to: url.appendingPathComponent(name))
        return path(name)
    }

    func text(_ name: String) -> String {
        (try? Data(contentsOf: url.appendingPathComponent(name))).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

/// Scenarios that run against each other.
final class Scene {
    let loop: VirtualLoop
    let folder: ScratchFolder
    private var parties: [Party] = []
    private var nextPort = 5060

    /// One end.
    final class Party {
        let run: ScenarioRun
        let port: Int
        /// Its `-mp`; others keep fifty ports away.
        var mediaPort: Int { 10_000 + 50 * (port - 5060) }
        fileprivate(set) var status: Int32?

        init(_ run: ScenarioRun, port: Int) {
            self.run = run
            self.port = port
        }
    }

    init(seed: UInt64 = 1) throws {
        loop = VirtualLoop(network: VirtualNetwork(seed: seed))
        folder = try ScratchFolder()
    }

    /// Begins a run: a scenario by its text, or by the arguments alone.
    func start(_ text: String? = nil, _ arguments: [String] = [], to target: Party? = nil) throws -> Party {
        var words = ["-i", "127.0.0.1", "-bind_local", "-p", "\(nextPort)", "-mp", "\(10_000 + 50 * (nextPort - 5060))"]
        if let text { words += ["-sf", try folder.write(text, "scenario-\(nextPort).xml")] }
        if let target { words.append("127.0.0.1:\(target.port)") }
        let options = try OptionReader.read(words + arguments)
        let (run, _) = try ScenarioRun.make(options, loop: loop, workers: .inline(name: "files"), processID: 4711, seed: 7)
        let party = Party(run, port: nextPort)
        nextPort += 2
        parties.append(party)
        run.onEnd = { party.status = $0 }
        try run.start()
        return party
    }

    /// Lets time pass until all have ended; true when they did.
    @discardableResult
    func play(_ limit: Duration = .seconds(300)) -> Bool {
        loop.run(until: loop.now + limit)
        return parties.allSatisfy { $0.status != nil }
    }
}

/// XML of small scenarios.
enum XML {
    static func scenario(_ steps: String) -> String {
        "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<scenario name=\"test\">\n\(steps)\n</scenario>\n"
    }

    static func request(
        _ method: String, _ attributes: String = "", cSeq: String = "[cseq]", more: String = "", toTag: Bool = true
    ) -> String {
        """
        <send \(attributes)><![CDATA[
          \(method) sip:[service]@[remote_ip]:[remote_port] SIP/2.0
          Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
          From: <sip:caller@[local_ip]:[local_port]>;tag=c[call_number]
          To: <sip:[service]@[remote_ip]:[remote_port]>\(toTag ? "[peer_tag_param]" : "")
          Call-ID: [call_id]
          CSeq: \(cSeq) \(method)
          Contact: <sip:caller@[local_ip]:[local_port]>
          Max-Forwards: 70
          \(more)Content-Length: 0
        ]]></send>

        """
    }

    static func response(_ status: String, _ attributes: String = "", more: String = "") -> String {
        """
        <send \(attributes)><![CDATA[
          SIP/2.0 \(status)
          [last_Via:]
          [last_From:]
          [last_To:];tag=s[call_number]
          [last_Call-ID:]
          [last_CSeq:]
          Contact: <sip:[local_ip]:[local_port]>
          \(more)Content-Length: 0
        ]]></send>

        """
    }

    /// A call that is placed, answered and ended.
    static let caller = scenario(
        request("INVITE", "retrans=\"500\"", toTag: false) + "<recv response=\"200\" rtd=\"true\"/>" + request("ACK")
            + "<pause milliseconds=\"100\"/>" + request("BYE", "retrans=\"500\"") + "<recv response=\"200\"/>")
    static let called = scenario(
        "<recv request=\"INVITE\"/>" + response("200 OK", "retrans=\"500\"")
            + "<recv request=\"ACK\" optional=\"true\"/><recv request=\"BYE\"/>" + response("200 OK")
            + "<timewait milliseconds=\"32000\"/>")
}
