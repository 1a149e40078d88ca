// Input that nobody meant: broken files never do more than give diagnostics, and no name leads out of its folder.

import Basics
import FlowEngine
import Foundation
import Testing

@Suite struct FlowInputTests {
    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(FlowFilesTests.folder)/\(name).yaml", encoding: .utf8)
    }

    @Test(arguments: FlowFilesTests.names)
    func everyBeginningOfAFlowIsReadOrRefused(name: String) throws {
        let text = try text(name)
        for length in stride(from: 0, to: text.count, by: 37) {
            let result = load(String(text.prefix(length)), file: "flows/\(name).yaml")
            #expect(result.flow != nil || result.diagnostics.contains { $0.severity == .error })
        }
    }

    @Test func changedFlowsAreReadOrRefused() throws {
        var random = SeededRandom(seed: 11)
        let original = Array(try text("reception").utf8)
        let signs = Array("{}[]:#&*!|>'\"%@`,-\n\t ${}~0\\".utf8)
        for round in 0..<300 {
            var bytes = original
            for _ in 0...(round % 4) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = signs.randomElement(using: &random) ?? 0
            }
            let result = load(String(decoding: bytes, as: UTF8.self))
            #expect(result.flow != nil || result.diagnostics.contains { $0.severity == .error }, "round \(round)")
        }
    }

    @Test func namesStayInTheirFolder() throws {
        let base = FileManager.default.temporaryDirectory.appendingPathComponent("ringwright-\(UUID().uuidString)").path
        let folder = base + "/in"
        try FileManager.default.createDirectory(atPath: folder + "/sub", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: base + "/in-secret", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: base) }
        try FileManager.default.createSymbolicLink(atPath: folder + "/out", withDestinationPath: base + "/in-secret")
        try FileManager.default.createSymbolicLink(atPath: folder + "/nowhere", withDestinationPath: base + "/new.wav")
        try FileManager.default.createSymbolicLink(atPath: folder + "/inside", withDestinationPath: folder + "/sub")
        for name in ["a.wav", "sub/a.wav", "new/deep/a.wav", "./a.wav", "inside/a.wav", "a..b.wav"] {
            #expect(throws: Never.self, "\(name)") { try PathConfinement.resolve(name, under: folder) }
        }
        for name in [
            "", "..", "../a.wav", "sub/../../a.wav", "/etc/passwd", "~/a", "a\0b", "a\nb", "out/a.wav", "out", "nowhere", "."
        ] {
            #expect(throws: PathConfinement.Refused.self, "\(name)") { try PathConfinement.resolve(name, under: folder) }
        }
    }

    @Test func aMenuMayCountItsDigits() throws {
        let flow = load(steps("answer", "menu: { prompt: a.wav, digits: 2, \"12\": hangup, into: choice }", "hangup"))
        #expect(flow.diagnostics.map(\.description) == [])
    }
}
