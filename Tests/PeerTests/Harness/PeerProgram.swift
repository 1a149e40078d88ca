// Programs that a test starts by name, in a folder that goes with the test.

import Foundation
import TestKit

extension PeerProgram {
    /// Whether the program is there; a test that needs it is skipped otherwise.
    static func isInstalled(_ name: String) -> Bool { path(of: name) != nil }

    /// - Parameter name: a program on the PATH, or the path of one.
    convenience init(
        _ name: String, _ arguments: [String], in folder: TemporaryFolder, environment: [String: String] = [:],
        reads: Bool = false
    ) throws {
        guard let path = Self.path(of: name) else { throw PeerError.missing(name) }
        try self.init(path: path, arguments, in: folder, environment: environment, reads: reads)
    }

    /// The environment of a program that says which ports it has opened, for `waitUntilOpen`.
    static func announcing() throws -> [String: String] {
        guard let library = announcer else { throw PeerError.missing("a C compiler (cc)") }
        return ["LD_PRELOAD": library]
    }

    /// announce.c, made once in a process.
    private static let announcer: String? = {
        guard let folder = announcerFolder else { return nil }
        let source = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "announce.c").path
        let library = folder.path("announce.so")
        let compiler = try? PeerProgram("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"], in: folder)
        return compiler?.wait(.seconds(60)) == 0 ? library : nil
    }()

    private static let announcerFolder = try? TemporaryFolder()

    /// Whether a program that is `announcing` has opened all these ports.
    func hasOpened(_ ports: [(kind: Ports.Kind, port: UInt16)]) -> Bool {
        let lines = Set(output.split(separator: "\n"))
        return ports.allSatisfy { lines.contains("opened \($0.kind) \($0.port)") }
    }

    /// Waits until a program that is `announcing` has opened all these ports; false when it ends before, or not within `limit`.
    @discardableResult
    func waitUntilOpen(_ ports: [(kind: Ports.Kind, port: UInt16)], _ limit: Duration = .seconds(20)) -> Bool {
        wait(limit) { $0.hasOpened(ports) }
    }
}

enum Peers {
    /// Whether the slower ways through the same code are taken too (`scripts/test --peers`).
    static let isAll = ProcessInfo.processInfo.environment["RINGWRIGHT_PEERS"] == "all"
}

enum PeerError: Error {
    case missing(String)
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
