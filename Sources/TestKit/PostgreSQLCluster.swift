// A real PostgreSQL for tests (scripts/postgresql): one a process, made when the first test wants it, gone with the process.

import Foundation
import Reactor
package import Store

/// A server in a folder of its own, as an unprivileged user.
package final class PostgreSQLCluster: Sendable {
    package let folder: String
    package let port: Int
    /// Its input ends with this process, however that ends, and it with its input.
    private let program: Locked<PeerProgram>
    /// By the socket in the folder, as a user who needs no password.
    package var url: String { "postgresql://ringwright@/postgres?host=\(folder)&port=\(port)" }

    /// nil where the programs are missing.
    package static let shared = PostgreSQLCluster()

    private static let script = URL(filePath: #filePath).appending(path: "../../../scripts/postgresql").standardizedFileURL.path

    private init?() {
        port = Self.freePort()
        // Its folder goes with it.
        guard let home = try? TemporaryFolder(),
            let program = try? PeerProgram(path: Self.script, [home.url.path, "\(port)"], in: home, reads: true),
            program.waitForOutput("ready\n", .seconds(30))
        else { return nil }
        folder = home.url.path
        self.program = Locked(program)
    }

    /// A port that nobody has at this moment.
    private static func freePort() -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, size)
                _ = getsockname(descriptor, $0, &size)
            }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

/// The stores that a test runs on.
package enum StoreKind: String, Sendable, CaseIterable, CustomStringConvertible {
    case sqlite, postgresql

    /// Those that are there.
    package static let available = allCases.filter { $0 == .sqlite || PostgreSQLCluster.shared != nil }

    package var description: String { rawValue }

    /// Opens what is kept under a path: the file, or the tables of that name. A second opening finds what the first one left.
    package func open(_ path: String, _ migrations: [String], isInline: Bool = false) throws(StoreError) -> Database {
        switch self {
        case .sqlite: return try Database(sqlite: path, migrations: migrations, isInline: isInline)
        case .postgresql:
            guard let cluster = PostgreSQLCluster.shared else { throw StoreError(.other, "PostgreSQL is not installed") }
            return try Database(
                postgresql: try PostgreSQLAddress(cluster.url), space: String(path.suffix(60)), migrations: migrations,
                isInline: isInline)
        }
    }
}
