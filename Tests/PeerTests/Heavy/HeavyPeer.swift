// Programs that scripts/peers unpacked beside the build: where they are, what they need to start, and when their tests run.

import Foundation
import TestKit
import Testing

enum HeavyPeer: String {
    case kamailio = "usr/sbin/kamailio"
    case rtpengine = "usr/bin/rtpengine"
    case linphonec = "usr/bin/linphonec"
    case sipsak = "usr/bin/sipsak"
    case svmap = "usr/bin/svmap"
    case svwar = "usr/bin/svwar"
    case svcrack = "usr/bin/svcrack"
    case sngrep = "usr/bin/sngrep"

    private static let folder = Files.root.appendingPathComponent(".build/peers")
    static let root = folder.appendingPathComponent("root").path

    var path: String { "\(Self.root)/\(rawValue)" }
    private var isUnpacked: Bool { FileManager.default.fileExists(atPath: path) }

    /// For a suite: its tests run when they are asked for and the program is there.
    var isWanted: ConditionTrait {
        let name = path.split(separator: "/").last ?? ""
        let why = Peers.isAll ? "\(name) is not unpacked; scripts/peers does it" : "\(name) runs with scripts/test --peers only"
        return .enabled(if: Peers.isAll && isUnpacked, Comment(rawValue: why))
    }

    /// A folder of the unpacked libraries for this machine's architecture, `kamailio` for instance.
    static func libraries(_ name: String) -> String? {
        libraryFolders.first { $0.hasSuffix("/\(name)") }
    }

    private static let libraryFolders: [String] = {
        let lines = (try? String(contentsOf: folder.appendingPathComponent("libraries"), encoding: .utf8)) ?? ""
        return lines.split(separator: "\n").map { "\(root)/\($0)" }
    }()

    /// Starts it. What it started itself ends with it, and all of it after `limit` seconds, whatever becomes of the test.
    func start(
        _ arguments: [String], in folder: TemporaryFolder, environment more: [String: String] = [:], reads: Bool = false,
        limit: Int = 60
    ) throws -> PeerProgram {
        // The scanners are scripts.
        let command = [.svmap, .svwar, .svcrack].contains(self) ? ["python3", path] : [path]
        let environment = [
            "LD_LIBRARY_PATH": Self.libraryFolders.joined(separator: ":"),
            "PYTHONPATH": "\(Self.root)/usr/lib/python3/dist-packages", "PYTHONDONTWRITEBYTECODE": "1"
        ]
        return try PeerProgram(
            "timeout", ["--kill-after=3", "\(limit)"] + command + arguments, in: folder,
            environment: environment.merging(more) { _, new in new }, reads: reads)
    }
}
