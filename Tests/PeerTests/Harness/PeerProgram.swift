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
