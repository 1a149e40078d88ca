// Dial lists and campaign files: what people write, and what is wrong with it.

import Basics
import CallEngine
import Dialer
import FlowEngine
import Foundation
import Testing

@Suite struct ListTests {
    static func with(_ content: String, _ name: String, _ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: name).path()
        try Data(content.utf8).write(to: URL(filePath: path))
        try body(path)
    }

    static func rows(_ path: String) throws -> [String] {
        let list = try TargetList(.file(path))
        var rows: [String] = []
        while let row = try list.next() { rows.append("\(row.line) \(row.value.json)") }
        return rows
    }

    @Test(arguments: [
        ("number,name\n1,Anna\n2,Ben\n", [#"2 {"number":"1","name":"Anna"}"#, #"3 {"number":"2","name":"Ben"}"#]),
        ("\u{FEFF}number\r\n0123\r\n", [#"2 {"number":"0123"}"#]),
        ("a,b\n\"x,y\",\"say \"\"hi\"\"\"\n", [#"2 {"a":"x,y","b":"say \"hi\""}"#]),
        ("a\n\"two\nlines\"\nnext\n", [#"2 {"a":"two\nlines"}"#, #"4 {"a":"next"}"#]),
        ("a,b\n\n 1 , 2 \n\n\n3,\n", [#"3 {"a":"1","b":"2"}"#, #"6 {"a":"3","b":""}"#]),
        ("a\rx\ry", [#"2 {"a":"x"}"#, #"3 {"a":"y"}"#]),
        ("a\nÄöß \u{1F600}", [#"2 {"a":"Äöß \#u{1F600}"}"#])
    ]) func commaSeparatedValues(_ content: String, _ wanted: [String]) throws {
        try Self.with(content, "list.csv") { path in
            let rows = try Self.rows(path)
            #expect(rows == wanted)
        }
    }

    @Test func linesOfJSON() throws {
        try Self.with("\u{FEFF}{\"number\":\"1\",\"n\":2}\n\n  {\"number\":\"3\"}\r\n", "list.jsonl") { path in
            let rows = try Self.rows(path)
            #expect(rows == [#"1 {"number":"1","n":2}"#, #"3 {"number":"3"}"#])
        }
    }

    @Test(arguments: [
        ("", "list.csv", "1: the list is empty; its first row names the columns"),
        ("a,a\n", "list.csv", "1: two columns are named a"),
        ("a,\n", "list.csv", "1: a column has no name; the first row names the columns"),
        ("a,b\n1,2\n1,2,3\n", "list.csv", "3: 3 fields, and the header has 2; a field with a comma in it stands in quotes"),
        ("a\n\"x\n", "list.csv", "2: a quote is not closed; close it, or write it twice"),
        ("a\n\"x\"y\n", "list.csv", "2: text after a closing quote; a quote within quotes is written twice"),
        ("{\"a\":1}\n[1]\n", "list.jsonl", "2: a row is an object; write {\"number\":\"100\"}, one a line")
    ]) func whatIsWrongWithAList(_ content: String, _ name: String, _ message: String) throws {
        try Self.with(content, name) { path in
            let problem = #expect(throws: CSVProblem.self) { try Self.rows(path) }
            #expect(problem?.description == "\(path):\(message)")
        }
    }

    @Test func aListThatIsNoText() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString).csv")
        try Data([0x61, 0x0A, 0xFF, 0xFE, 0x0A]).write(to: folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        let problem = #expect(throws: CSVProblem.self) { try Self.rows(folder.path()) }
        #expect(problem?.message == "not readable as UTF-8 text")
    }

    /// A disk that fails in the middle is not the end of a list.
    @Test(arguments: ["csv", "jsonl"]) func aListThatCannotBeRead(_ ending: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString).\(ending)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let problem = #expect(throws: CSVProblem.self) { try Self.rows(folder.path()) }
        #expect(problem?.message.hasPrefix("the file cannot be read: ") == true)
    }

    @Test func aWholeCampaign() throws {
        let result = CampaignReader.read(
            text: """
                campaign: nightly
                description: forty numbers
                targets: numbers.csv
                flow: ../flows/caller.yaml
                to: "sip:${target.number}@192.0.2.1"
                caller-id: "${target.from}"
                line: carrier
                concurrency: 20
                rate: 5
                hours: { from: "09:00", until: "18:30", days: [ mon, tue ], zone: Europe/Berlin }
                attempts: { most: 3, wait: 10m, after: { busy: 1m } }
                limits: [ { to: "/^sip:\\\\+49/", concurrency: 5, rate: 1 } ]
                stop: { failure-rate: 20%, after: 50 }
                vars: { shop: "${target.shop}" }
                """, file: "campaigns/nightly.yaml")
        let plan = try #require(result.plan, "\(result.diagnostics)")
        #expect(result.diagnostics.isEmpty)
        #expect(
            (plan.name, plan.list.description, plan.flow) == (
                "nightly", "campaigns/numbers.csv", "campaigns/../flows/caller.yaml"
            ))
        #expect((plan.concurrency, plan.rate, plan.line) == (20, 5, "carrier"))
        #expect(plan.attempts.after == [.busy: .seconds(60)])
        #expect(plan.stop == StopRule(failureRate: 0.2, after: 50))
        #expect(plan.limits.first?.pattern.matches("sip:+4930123@x") == true)
        #expect(plan.limits.first?.pattern.matches("sip:4930123@x") == false)
        #expect(plan.vars.map(\.name) == ["shop"])
    }

    @Test(arguments: [
        ("flow: f\nto: x\n", "`targets`"),
        ("targets: l\nto: x\n", "`flow`"),
        ("targets: l\nflow: f\n", "`to`"),
        ("targets: l\nflow: f\nto: \"${target.\"\n", "`to`: "),
        ("targets: l\nflow: f\nto: \"${numbr}\"\n", "`to`: "),
        ("targets: l\nflow: f\nto: x\nconcurency: 5\n", "did you mean `concurrency`?"),
        ("targets: l\nflow: f\nto: x\nconcurrency: 0\n", "`concurrency` is from 1"),
        ("targets: l\nflow: f\nto: x\nhours: { from: \"25:00\" }\n", "`from` is a time such as \"09:30\", not 25:00"),
        ("targets: l\nflow: f\nto: x\nhours: { days: [ freitag ] }\n", "unknown day `freitag`"),
        ("targets: l\nflow: f\nto: x\nhours: { zone: Mars/Olympus }\n", "there is no time zone Mars/Olympus"),
        ("targets: l\nflow: f\nto: x\nattempts: { after: { bussy: 1m } }\n", "did you mean `busy`?"),
        ("targets: l\nflow: f\nto: x\nlimits: [ { to: \"+49\", rate: 1 } ]\n", "`to` is a pattern between slashes"),
        ("targets: l\nflow: f\nto: x\nlimits: [ { to: \"/(/\", rate: 1 } ]\n", "the pattern"),
        ("targets: l\nflow: f\nto: x\nlimits: [ { to: \"/a/\" } ]\n", "a limit limits nothing"),
        ("targets: l\nflow: f\nto: x\nstop: { failure-rate: 0.2 }\n", "`failure-rate` is a share such as 20%"),
        ("targets: l\nflow: f\nto: x\nparties: []\n", "`parties` is a mapping"),
        ("targets: l\nflow: f\nto: x\nparties: {}\n", "`parties` names nobody"),
        ("targets: l\nflow: f\nto: x\nparties: { caller: { flow: b } }\n", "the caller is `caller` already"),
        ("targets: l\nflow: f\nto: x\nparties: { \"a b\": { flow: b } }\n", "a party's name has letters, digits, - and _"),
        ("targets: l\nflow: f\nto: x\nparties: { b: { number: \"1\" } }\n", "name what it does: `flow: agent.yaml`"),
        ("targets: l\nflow: f\nto: x\nparties: { b: { flow: b, numbr: \"1\" } }\n", "did you mean `number`?"),
        ("targets: l\nflow: f\nto: x\nparties: { b: { flow: b, number: \"${targt.x}\" } }\n", "targt"),
        ("targets: l\nflow: f\nto: x\nparties: { b: { flow: b, called: twice } }\n", "known: `once`, `never`, `perhaps`"),
        ("targets: l\nflow: f\nto: x\nparties: { b: { flow: b, agree: [ hangup ] } }\n", "did you mean `hang-up`?"),
        ("targets: l\nflow: f\nto: x\nparties: { b: { flow: b, within: 0s } }\n", "`within` is longer than nothing"),
        ("targets: l\nflow: f\nto: x\nparties: { b: { flow: b }, c: { flow: b, line: l } }\n", "nothing tells a call to `b`"),
        ("targets: l\nflow: f\nto: x\nmark: X-Test\n", "without `parties` no call comes back"),
        ("targets: l\nflow: f\nto: x\nmark: Subject\nparties: { b: { flow: b } }\n", "X-Test or User-to-User")
    ]) func whatIsWrongWithACampaign(_ text: String, _ message: String) {
        let result = CampaignReader.read(text: text, file: "c.yaml")
        #expect(result.plan == nil)
        #expect(
            result.diagnostics.contains { $0.description.contains(message) && $0.description.hasPrefix("c.yaml:") },
            "\(result.diagnostics)")
    }
}
