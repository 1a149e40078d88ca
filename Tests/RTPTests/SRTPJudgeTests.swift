// libsrtp2 judges: it takes what we protect, and we take what it protects. It is a program of its own, built here from Judge/judge.c,
// and no part of the product.

import Basics
import Foundation
import RTP
import Testing

/// The judge's program.
private enum Judge {
    /// nil: no C compiler, or no libsrtp2-dev.
    static let program: String? = {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Judge/judge.c").path
        let target = NSTemporaryDirectory() + "srtp-judge-\(UInt64.random(in: .min ... .max))"
        guard run("/usr/bin/env", ["cc", "-o", target, source, "-lsrtp2"], input: "") != nil else { return nil }
        return target
    }()

    /// What it printed; nil when it did not end well.
    static func run(_ path: String, _ arguments: [String], input: String) -> [String]? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let (questions, answers) = (NSTemporaryDirectory() + "srtp-\(UInt64.random(in: .min ... .max))", Pipe())
        guard (try? input.write(toFile: questions, atomically: true, encoding: .utf8)) != nil,
            let file = FileHandle(forReadingAtPath: questions)
        else { return nil }
        defer { try? FileManager.default.removeItem(atPath: questions) }
        process.standardInput = file
        process.standardOutput = answers
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let output = answers.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { return nil }
        return String(decoding: output, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}

@Suite(.enabled(if: Judge.program != nil, "there is no C compiler or no libsrtp2-dev")) struct SRTPJudgeTests {
    /// Numbers around the wrap, with some lost.
    private static let numbers = (65_500..<65_600).filter { $0 % 7 != 3 }.map { UInt16(truncatingIfNeeded: $0) }

    private func packets() -> [[UInt8]] {
        Self.numbers.map { rtpPacket($0, contributors: Int($0 % 3), extended: $0 % 5 == 0) }
    }

    @Test("libsrtp2 takes ours and we take its", arguments: SRTPSuite.allCases) func judged(suite: SRTPSuite) throws {
        let program = try #require(Judge.program)
        let key = masterKey(suite, seed: 77)
        let sender = SRTPSender(suite, master: key)
        var questions = ["s \(suite.rawValue) \(hex(key))"]
        for packet in packets() { questions.append("u \(hex(try #require(sender.protect(packet))))") }
        for _ in 0..<5 { questions.append("U \(hex(try #require(sender.protectControl(rtcpPacket()))))") }
        for packet in packets() { questions.append("p \(hex(packet))") }
        for _ in 0..<5 { questions.append("P \(hex(rtcpPacket()))") }
        let answers = try #require(Judge.run(program, [], input: questions.joined(separator: "\n") + "\n"))
        try #require(answers.count == questions.count + 1)
        #expect(answers[0] == "")
        var place = 1
        for packet in packets() {
            #expect(answers[place] == hex(packet), "\(suite.rawValue), packet \(place)")
            place += 1
        }
        for _ in 0..<5 {
            #expect(answers[place] == hex(rtcpPacket()))
            place += 1
        }
        let receiver = SRTPReceiver(suite, master: key)
        let ours = SRTPSender(suite, master: key)
        for packet in packets() {
            let protected = octets(answers[place])
            #expect(try receiver.unprotect(protected) == packet)
            #expect(ours.protect(packet) == protected, "the same octets")
            place += 1
        }
        for _ in 0..<5 {
            #expect(try receiver.unprotectControl(octets(answers[place])) == rtcpPacket())
            place += 1
        }
    }
}
