// Access to the corpora beside the checkout (../shared/corpora). They are not part of the repository: tests that need them are
// skipped where they are absent; OwnVectorTests.swift holds a vector of each kind of oddity that is always there.

import Foundation

enum Corpus {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("../shared/corpora").standardizedFileURL

    static var isPresent: Bool { FileManager.default.fileExists(atPath: root.appendingPathComponent("sip-torture").path) }

    static func octets(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: root.appendingPathComponent(path))) }

    /// The rows of a manifest; none where the corpora are absent.
    static func manifest(_ path: String) -> [[String: Any]] {
        guard let data = try? Data(contentsOf: root.appendingPathComponent(path)) else { return [] }
        return (try? JSONSerialization.jsonObject(with: data)) as? [[String: Any]] ?? []
    }

    static let torture = (manifest("sip-torture/rfc4475/manifest.json") + manifest("sip-torture/rfc5118/manifest.json"))
        .compactMap { $0["file"] as? String }.filter { !$0.contains("extra-not-in-rfc") && !$0.contains("ersip-variant") }
    static let field = manifest("sip-messages/manifest.json").compactMap { $0["file"] as? String }
}
