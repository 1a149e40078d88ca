// `--workers`: where the database's URL comes from, and that no secret stands in an argument or an error.

import FlowEngine
import Server
import Testing

@Suite struct WorkersOptionTests {
    static let sources = ConfigurationSources(
        environment: ["DATABASE": "postgresql://dialer:hidden@db/calls"],
        readFile: { $0 == "/run/url" ? "postgresql://dialer:hidden@db:5433/calls\n" : nil }, fileExists: { $0 == "/run/url" })

    static func options(_ words: String...) throws -> CampaignOptions {
        let arguments = try CampaignOptions.syntax.parse(["nightly.yaml"] + words)
        return try CampaignOptions(arguments, sources: sources)
    }

    @Test func comesFromTheEnvironmentAFileOrTheArgument() throws {
        #expect(try Self.options().workers == nil)
        #expect("\(try #require(Self.options("--workers", "${env.DATABASE}").workers))" == "postgresql://dialer@db/calls")
        #expect("\(try #require(Self.options("--workers", "${file./run/url}").workers))" == "postgresql://dialer@db:5433/calls")
        #expect("\(try #require(Self.options("--workers", "postgres://db/calls").workers))" == "postgresql://db/calls")
        #expect(try Self.options("--workers", "postgres://db/calls", "--lease", "2s").lease == .seconds(2))
    }

    @Test(arguments: [
        ("postgresql://dialer:hidden@db/calls", "--workers: a password has no place in an argument"),
        ("postgresql://db/calls?password=hidden", "--workers: a password has no place in an argument"),
        ("postgresql://db/calls?sslkey=k&sslpassword=hidden", "--workers: a password has no place in an argument"),
        ("db.example.com", "--workers: a database is named by a URL such as postgresql://user@host/database"),
        ("${env.NOTHING}", "--workers: the environment has no NOTHING"),
        ("${file./run/none}", "--workers: /run/none cannot be read")
    ])
    func whatCannotBeIsNamed(_ url: String, _ message: String) throws {
        let error = #expect(throws: CommandFailure.self) { try Self.options("--workers", url) }
        #expect(error?.message == message && error?.status == .wrong)
        #expect(error?.mend?.contains("hidden") != true)
    }

    @Test func leaseIsForWorkersAndWithinLimits() throws {
        let alone = #expect(throws: CommandFailure.self) { try Self.options("--lease", "2s") }
        #expect(alone?.message == "--lease is for --workers")
        let short = #expect(throws: CommandFailure.self) { try Self.options("--workers", "postgres://db/x", "--lease", "50ms") }
        #expect(short?.message == "--lease is a time from 100ms to 1h")
    }
}
