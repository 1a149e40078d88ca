// The doctor: what it finds on a machine that is made wrong on purpose.

import Basics
import CallEngine
import FlowEngine
import Foundation
import Glibc
import Server
import Testing

@Suite struct DoctorTests {
    /// Ports that the system chose, so that the healthy case does not depend on what else runs here.
    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.sip.listen = [
            .init(.udp, SocketAddress(ip: .loopback4, port: 0)), .init(.tcp, SocketAddress(ip: .loopback4, port: 0))
        ]
        configuration.control.listen = nil
        configuration.limits.calls = 1
        configuration.recordings = "recordings"
        return configuration
    }

    func findings(_ configuration: Configuration, prompts: [Diagnostic] = []) -> [DoctorFinding] {
        Doctor.examine(configuration, prompts: prompts)
    }

    @Test func everySubjectIsLookedAt() {
        let subjects = Set(findings(Self.configuration).map(\.subject))
        #expect(
            subjects.isSuperset(of: [
                "ports", "descriptors", "libraries", "clock", "codecs", "names", "recordings", "speech", "flows"
            ]))
    }

    @Test func anAddressOfAnotherMachineIsAProblem() throws {
        var configuration = Self.configuration
        configuration.sip.listen = [.init(.udp, try #require(SocketAddress("192.0.2.1:0")))]
        let found = findings(configuration)
        #expect(found.first?.state == .problem)
        #expect(found.first?.message == "udp:192.0.2.1:0 is no address of this machine")
        #expect(found.first?.mend != nil)
        #expect(Doctor.status(of: found) == .unable)
    }

    @Test func aTakenPortIsAProblem() throws {
        let taken = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(taken) }
        // Listening without binding: the system chooses a port.
        #expect(listen(taken, 1) == 0)
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(taken, $0, &size) }
        }
        var configuration = Self.configuration
        configuration.control.listen = SocketAddress(ip: .loopback4, port: UInt16(bigEndian: address.sin_port))
        // Other programs of this machine may have the media ports.
        let found = findings(configuration).filter {
            $0.subject == "ports" && $0.state == .problem && !$0.message.hasPrefix("media ports")
        }
        #expect(found.map(\.message) == ["http on 127.0.0.1:\(UInt16(bigEndian: address.sin_port)) is taken by another program"])
    }

    @Test func aFolderNobodyMayWriteToAndANameNobodyKnows() {
        var configuration = Self.configuration
        configuration.recordings = "/proc/recordings"
        configuration.lines = [LineSettings(name: "carrier", server: "carrier.invalid")]
        let problems = findings(configuration).filter { $0.state == .problem }.map(\.message)
        #expect(problems.contains("this user may not write to /proc/recordings"))
        #expect(problems.contains { $0.hasPrefix("carrier.invalid (line carrier) cannot be looked up") })
    }

    @Test func tooManyCallsForTheDescriptors() {
        var configuration = Self.configuration
        configuration.limits.calls = 1_000_000_000
        let finding = findings(configuration).first { $0.subject == "descriptors" }
        #expect(finding?.state == .warning || finding?.state == .problem)
        #expect(finding?.mend?.contains("LimitNOFILE=") == true)
    }

    @Test func aMistakeOfAFlowIsPassedOn() {
        let place = SourcePlace(file: "a.yaml", line: 3, column: 5)
        let found = findings(
            Self.configuration, prompts: [Diagnostic(.error, at: place, "there is no prompt x.wav", mend: "record it")])
        #expect(found.last == DoctorFinding(.problem, "flows", "a.yaml:3:5: there is no prompt x.wav", mend: "record it"))
        #expect(Doctor.status(of: found) == .unable)
    }

    @Test func theSpeechCommandIsTriedOut() throws {
        var configuration = Self.configuration
        configuration.speech.command = ["no-such-speaker"]
        let finding = try #require(findings(configuration).first { $0.subject == "speech" })
        #expect(finding.state == .problem)
        #expect(finding.message == "`say` fails: `no-such-speaker` cannot be started: No such file or directory")
        #expect(finding.mend == "install it, or name another program in speech.command")
        let prompt = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../prompts/goodbye.wav").path
        configuration.speech.command = ["cat", prompt]
        #expect(findings(configuration).contains(DoctorFinding(.well, "speech", "`cat` speaks")))
    }
}
