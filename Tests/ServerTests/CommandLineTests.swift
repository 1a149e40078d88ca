// The command line: what is read, what is refused, and with which words.

import CallEngine
import Server
import Testing

@Suite struct CommandLineTests {
    func arguments(_ words: String...) throws -> CommandArguments {
        guard case .run(let arguments) = try CommandList.choose(words) else { throw NoRun() }
        return arguments
    }
    struct NoRun: Error {}

    @Test(arguments: CommandList.all.map(\.name))
    func everyCommandHasHelpWithAnExample(_ name: String) throws {
        guard case .help(let text) = try CommandList.choose([name, "--help"]) else {
            Issue.record("no help")
            return
        }
        #expect(text.hasPrefix("usage: ringwright \(name)"))
        #expect(text.contains("\n  ringwright \(name)"))
        #expect(try CommandList.choose(["help", name]) == .help(text))
        #expect(CommandList.help.contains("\n  \(name) "))
    }

    @Test func theVersionIsTold() throws {
        #expect(try CommandList.choose(["--version"]) == .version)
        #expect(CommandList.help.contains("--version"))
    }

    /// The examples of the help are command lines that this version takes.
    @Test(arguments: CommandList.all.flatMap { $0.examples.map(\.line) })
    func examplesAreRight(_ line: String) throws {
        guard case .run(let arguments) = try CommandList.choose(line.split(separator: " ").map(String.init)) else {
            Issue.record("it asks for help")
            return
        }
        switch arguments.command {
        case "serve": _ = try ServeOptions(arguments)
        case "call": _ = try CallOptions(arguments)
        case "campaign": _ = try CampaignOptions(arguments)
        case "load": _ = try LoadOptions(arguments)
        case "doctor": _ = try DoctorOptions(arguments)
        default: break
        }
    }

    @Test(arguments: [
        ([], "a command is missing; ringwright --help lists them"),
        (["srve"], "there is no command srve; did you mean serve?"),
        (["graph"], "the command graph is not built yet"),
        (["serve", "--max-cals", "5"], "serve has no option --max-cals; did you mean --max-calls?"),
        (["--version", "x"], "--version stands alone"),
        (["serve", "-x"], "serve has no option -x; ringwright serve --help lists them"),
        (["serve", "--rtp"], "--rtp needs a value: --rtp LOW-HIGH"),
        (["serve", "--rtp", "--http"], "--rtp needs a value: --rtp LOW-HIGH"),
        (["serve", "--rtp", "1-2", "--rtp", "3-4"], "--rtp is there twice"),
        (["serve", "a", "b"], "serve does not know what to do with \"b\"; usage: ringwright serve [FLOW] [options]"),
        (["call"], "call needs TARGET; ringwright call --help shows an example"),
        (["call", "sip:a@b", "--json=yes"], "--json takes no value")
    ])
    func whatIsRefused(_ words: [String], _ message: String) throws {
        let failure = #expect(throws: CommandFailure.self) { try CommandList.choose(words) }
        #expect(failure?.description == message)
        #expect(failure?.status == .wrong)
    }

    @Test func optionsAndArgumentsInAnyOrder() throws {
        let one = try arguments(
            "call", "--flow=f.yaml", "sip:a@b", "--var", "a=1", "--var=b=2=3", "--duration", "1m30s", "--json")
        let options = try CallOptions(one)
        #expect(options.target == "sip:a@b")
        #expect(options.flow == "f.yaml")
        #expect(options.vars.map(\.name) == ["a", "b"])
        #expect(options.vars.map(\.value) == ["1", "2=3"])
        #expect(options.duration == .seconds(90))
        #expect(options.json)
        #expect(try arguments("check", "--", "--json").arguments == ["--json"])
    }

    @Test(arguments: [
        (["call", "100"], "\"100\" is no SIP address; write sip:100@host:5060, or name a --line for a number"),
        (["call", "sip:a@b", "--var", "a"], "--var takes NAME=VALUE, not \"a\""),
        (["call", "sip:a@b", "--duration", "5"], "--duration: "),
        (["call", "sip:a@b", "--set", "x"], "--set takes a path and a value, not \"x\"")
    ])
    func callOptionsAreChecked(_ words: [String], _ message: String) throws {
        guard case .run(let arguments) = try CommandList.choose(words) else { throw NoRun() }
        let failure = #expect(throws: CommandFailure.self) { try CallOptions(arguments) }
        #expect(failure?.description.hasPrefix(message) == true, "\(failure?.description ?? "")")
    }

    @Test func serveOptionsReplaceTheConfiguration() throws {
        let options = try ServeOptions(
            arguments(
                "serve", "f.yaml", "--sip", "udp:127.0.0.1:0", "--sip", "tcp:127.0.0.1:0", "--rtp", "30000-30099", "--http",
                "off",
                "--max-calls", "50"))
        #expect(options.flow == "f.yaml")
        let (configuration, warnings) = try options.configuration.load(sources: ConfigurationTests.sources)
        #expect(configuration.sip.listen.map { "\($0.transport):\($0.address)" } == ["udp:127.0.0.1:0", "tcp:127.0.0.1:0"])
        #expect(configuration.rtp.ports == 30000...30099)
        #expect(configuration.control.listen == nil)
        #expect(configuration.limits.calls == 50)
        #expect(warnings.isEmpty)
    }

    @Test func aWrongOptionOfServeIsNamedByItsOption() throws {
        let options = try ServeOptions(arguments("serve", "--sip", "sctp:127.0.0.1:5060"))
        let failure = #expect(throws: CommandFailure.self) {
            _ = try options.configuration.load(sources: ConfigurationTests.sources)
        }
        #expect(failure?.message.contains("--sip:1:2: error: `sip.listen`: `sctp:127.0.0.1:5060` has no transport") == true)
        #expect(failure?.status == .wrong)
    }
}
