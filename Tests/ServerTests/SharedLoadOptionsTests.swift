// The options of a shared load run.

import Server
import Testing

@Suite struct SharedLoadOptionsTests {
    static let database = ["--workers", "postgresql://load@db/runs"]

    static func options(_ words: [String]) throws -> LoadOptions {
        let arguments = try LoadOptions.syntax.parse(["sip:100@127.0.0.1", "--rate", "10", "--duration", "10s"] + words)
        return try LoadOptions(arguments, sources: WorkersOptionTests.sources)
    }

    @Test func aSharedRunHasANameAndACount() throws {
        #expect(try Self.options([]).shared == nil)
        let options = try Self.options(Self.database + ["--name", "monday", "--worker-count", "3", "--lease", "2s"])
        let shared = try #require(options.shared)
        #expect((shared.name, shared.workers, shared.lease) == ("monday", 3, .seconds(2)))
        // What all have in common does not tell whom each calls, nor who it is.
        #expect(!options.plan.contains("127.0.0.1") && options.plan.contains("duration 10s"))
        let other = try Self.options(Self.database + ["--name", "monday", "--worker-count", "3", "--lease", "2s", "--hold", "9s"])
        #expect(other.plan != options.plan)
    }

    @Test(arguments: [
        (database + ["--name", "monday"], "--workers needs --worker-count"),
        (database + ["--worker-count", "2"], "--workers needs --name"), (["--name", "monday"], "--name is for --workers"),
        (["--worker-count", "2"], "--worker-count is for --workers"), (["--lease", "2s"], "--lease is for --workers")
    ])
    func whatIsMissingIsNamed(_ words: [String], _ message: String) throws {
        let error = #expect(throws: CommandFailure.self) { try Self.options(words) }
        #expect(error?.message == message)
    }

    @Test func noLimitIsLookedForTogether() throws {
        let arguments = try LoadOptions.syntax.parse(
            ["sip:100@127.0.0.1", "--rate", "10", "--find-limit", "--name", "m", "--worker-count", "2"] + Self.database)
        let error = #expect(throws: CommandFailure.self) { try LoadOptions(arguments) }
        #expect(error?.message == "--workers and --find-limit exclude each other")
    }
}
