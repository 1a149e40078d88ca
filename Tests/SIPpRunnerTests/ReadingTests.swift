// Reading scenarios, injection files and command lines: what is let through, and what is said about the rest.

import SIPpRunner
import Testing

@Suite("SIPp runner: reading")
struct ReadingTests {
    private func read(_ text: String) throws(ScenarioError) -> (Scenario, [String]) {
        try ScenarioReader.read(Array(text.utf8), file: "a.xml")
    }

    @Test("files as people have them: no declaration, bare signs, odd blanks")
    func lenient() throws {
        let (scenario, warnings) = try read(
            """
            some text before
            <!-- a comment -- with dashes -->
            <scenario name='odd' >
              <recv  request = "INVITE"  old_attribute="1"  >
                <action>
                  <ereg regexp="<sip:([^>]*)>" search_in="hdr" header="From:" assign_to="1,2" check_it="true" />
                </action>
              </recv>
              <log-less/>
            </scenario>
            """.replacing("  <log-less/>\n", with: "  <Reference variables=\"1,2\"/>\n"))
        #expect(scenario.name == "odd")
        #expect(scenario.steps.count == 1)
        #expect(warnings == ["a.xml:4: <recv> has no attribute old_attribute; it has no effect"])
    }

    @Test(
        "a fault is told with its place",
        arguments: [
            ("<scenario><send></send></scenario>", "a.xml:1: <send> has no message; write it in <![CDATA[ … ]]>"),
            ("<scenario>\n<recv/>\n</scenario>", "a.xml:2: <recv> needs either response=… or request=…"),
            (
                "<scenario>\n<nop next=\"x\"/>\n</scenario>",
                "a.xml:2: there is no label x; write <label id=\"x\"/> before the step to go to"
            ),
            ("<scenario>\n<nop>\n</scenario>", "a.xml:3: </scenario> ends what began as <nop> in line 2"),
            ("<scenario><jump/></scenario>", "a.xml:1: <jump> is no element of a scenario"),
            (
                "<scenario><nop><action><assign assign_to=\"x\" value=\"1\"/></action></nop></scenario>",
                "a.xml:1: the variable $x is used only once; a slip of the pen? else name it in <Reference variables=\"x\"/>"
            ),
            (
                "<scenario>\n\n<nop><action><ereg regexp=\"(\" assign_to=\"x,x\"/></action></nop></scenario>",
                "a.xml:3: \"(\" is no regular expression: Unmatched ( or \\("
            ),
            (
                "<scenario><recv response=\"100\" optional=\"true\"/></scenario>",
                "a.xml:1: an optional <recv> must be followed by one that is not optional"
            ),
            (
                "<scenario><timewait milliseconds=\"1\"/><nop/></scenario>",
                "a.xml:1: <timewait> must be the last step; use <pause> here"
            ),
            (
                "<scenario><send><![CDATA[ INVITE [nonsense] ]]></send></scenario>",
                "a.xml:1: there is no keyword [nonsense]; a literal bracket is \\x5b, a name of your own comes by -key"
            ),
            ("<call/>", "a.xml:1: the root element is <call>; a scenario begins with <scenario>"),
            ("", "a.xml: there is no element in it; a scenario is <scenario name=\"…\">…</scenario>"),
            ("<scenario><pause distribution=\"pareto\" k=\"1\"/></scenario>", "a.xml:1: the pareto distribution needs x_m=…")
        ])
    func faults(_ text: String, _ message: String) {
        #expect {
            _ = try read(text)
        } throws: {
            "\($0)" == message
        }
    }

    @Test(
        "command lines that cannot be run",
        arguments: [
            (["-foo"], "Invalid argument: '-foo'. ringwright sipp -h lists them"), (["-m"], "-m needs a value"),
            (["-m", "abc"], "-m, \"abc\" is not a valid integer!"),
            (["-d", "10x"], "-d, \"10x\" is not a valid time! Write 500ms, 10s, 2m, 1h or 1:30"),
            (["-timeout", "1e300"], "-timeout, \"1e300\" is not a valid time! Write 500ms, 10s, 2m, 1h or 1:30"),
            (["-r", "inf"], "-r, \"inf\" is not a valid number!"), (["-rp", "1e-300"], "-rp is at least 1 (milliseconds)"),
            (["-mp", "9223372036854775807"], "-mp, \"9223372036854775807\" is not a valid integer!"),
            (
                ["-t", "s1"],
                "-t s1: there are u1, un, ui, t1, tn, l1, ln, w1, wn, wl1, wln; SCTP and compression are not supported"
            ),
            (["-rtp_payload", "128"], "-rtp_payload 128: a payload type is 0 to 127"),
            (["-sn", "uac", "-sf", "x"], "-sf and -sn exclude each other"),
            (["a", "b"], "what is \"b\"? The remote host is a already"),
            (["-timeout_error"], "-timeout_error needs -timeout"),
            (
                ["-default_behaviors", "all,-nice"],
                "-default_behaviors: there is no nice; there are all, none, bye, abortunexp and pingreply"
            )
        ])
    func wrongOptions(_ words: [String], _ message: String) {
        #expect {
            _ = try OptionReader.read(words)
        } throws: {
            ($0 as? OptionError)?.message == message
        }
    }

    @Test("units of times, and where they begin")
    func times() throws {
        let options = try OptionReader.read([
            "-d", "1:30", "-timeout", "2", "-rp", "5s", "-recv_timeout", "500", "-fd", "1m", "-trace_stat"
        ])
        #expect(options.calls.pause == 90_000)
        #expect(options.timeout == 2000)
        #expect(options.ratePeriod == 5000)
        #expect(options.calls.receiveTimeout == 500)
        #expect(options.statisticsInterval == 60_000)
    }

    @Test("injection files: orders, comments, PRINTF, look-ups")
    func injection() throws {
        let plain = try InjectionFile(Array("SEQUENTIAL\n# none\nalice;1\r\nbob;2\n".utf8), path: "dir/users.csv")
        #expect(plain.name == "users.csv")
        #expect((0..<3).map { _ in plain.line(user: 0, chance: 0) } == [0, 1, 0])
        #expect(String(decoding: plain.field(0, line: 1), as: UTF8.self) == "bob")
        #expect(plain.field(7, line: 1).isEmpty)
        plain.index(by: 0)
        #expect(plain.line(withKey: Array("bob".utf8)) == 1)
        plain.insert(Array("carol;3".utf8))
        #expect(plain.line(withKey: Array("carol".utf8)) == 2)
        #expect(plain.replace(line: 0, by: Array("dave;4".utf8)))
        #expect(plain.line(withKey: Array("alice".utf8)) == nil)
        #expect(!plain.replace(line: 9, by: []))
        let many = try InjectionFile(Array("USER, PRINTF=1000, PRINTFMULTIPLE=2, PRINTFOFFSET=10\nu%04d;%%;%x\n".utf8), path: "m")
        #expect(many.count == 1000)
        #expect(String(decoding: many.field(0, line: 3), as: UTF8.self) == "u0016")
        #expect(String(decoding: many.field(1, line: 3), as: UTF8.self) == "%")
        #expect(many.line(user: 5, chance: 0) == 4)
        #expect(throws: ScenarioError("m", 1, "\"ALL\" is no order of lines: SEQUENTIAL, RANDOM or USER")) {
            _ = try InjectionFile(Array("ALL\nx\n".utf8), path: "m")
        }
        for word in ["PRINTF=0", "PRINTF=-5", "PRINTFMULTIPLE=9223372036854775807"] {
            #expect(throws: ScenarioError("m", 1, "\(word): it is a number from 1 to 1000000000")) {
                _ = try InjectionFile(Array("SEQUENTIAL,\(word)\nx\n".utf8), path: "m")
            }
        }
    }

    @Test("every embedded scenario can be read", arguments: EmbeddedScenarios.list)
    func embedded(_ name: String) throws {
        let text = try #require(EmbeddedScenarios.text(name))
        let (scenario, warnings) = try ScenarioReader.read(Array(text.utf8), file: name)
        #expect(!scenario.steps.isEmpty)
        #expect(warnings.isEmpty)
    }
}
