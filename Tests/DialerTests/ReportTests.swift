// Reports from a database that was filled by hand: what is told, and that nothing in a name breaks a file.

import CallEngine
import Dialer
import FlowEngine
import Foundation
import FoundationXML
import Store
import Testing

@Suite struct ReportTests {
    @Test func everyFileSaysTheSameAndSurvivesOddNames() throws {
        let bench = try CampaignTests.Bench("number\n1\n2\n3\n4\n")
        let plan = try CampaignTests.Bench.plan("attempts: { most: 2, wait: 1s }\n").replacingTarget()
        _ = try bench.open(plan)
        let odd = "<b>&\"'\u{1}]]>,\n\u{1F600}"
        bench.go(plan) { attempt in
            switch attempt.row {
            case 1:
                var result = CampaignTests.result(.passed)
                result.answer = 120
                result.score = 4.4
                return (.seconds(2), result)
            case 2:
                let text = Value.object([
                    "ended": .object(["detail": .string(odd)]),
                    "expectations": .list([
                        .object(["name": .string("hears \(odd)"), "passed": .bool(false), "actual": .string("nothing")])
                    ])
                ]).json
                var result = AttemptResult(verdict: .failed, cause: .normal, status: 200, json: text)
                result.ladder = odd
                return (.seconds(1), result)
            case 3: return (.seconds(1), AttemptResult(verdict: .failed, cause: .busy, status: 486, json: "{}"))
            default: return (.seconds(1), AttemptResult.unseen(attempt, flow: "f", detail: "no ports"))
            }
        }
        let folder = bench.folder.path()
        let summary = try bench.database!.performAndWait { connection throws(StoreError) in
            try CampaignReport.write("odd \(odd)", into: folder, wasStopped: false, wasCut: false, connection)
        }
        #expect((summary.counts.targets, summary.counts.passed, summary.counts.failed, summary.counts.error) == (4, 1, 2, 1))
        #expect(summary.counts.attempts == 5)
        #expect(summary.byStatus == [486: 1])
        #expect(summary.byCause == ["expectation": 1, "error": 1])
        #expect(summary.answer.count == 1)
        #expect(!summary.isPassed)
        let words = "odd \(odd): 4 targets, 1 passed, 2 failed, 1 error of this side\n  5 calls in "
        #expect(summary.text.hasPrefix(words), "\(summary.text)")

        func text(_ name: String) throws -> String { try String(contentsOf: bench.folder.appending(path: name), encoding: .utf8) }
        let junit = try text("junit.xml")
        #expect(XMLParser(data: Data(junit.utf8)).parse(), "\(junit)")
        #expect(junit.contains("tests=\"4\" failures=\"2\" errors=\"1\" skipped=\"0\""))
        #expect(junit.components(separatedBy: "<testcase ").count == 5)
        let page = try text("report.html")
        #expect(!page.contains("<b>&\""))
        #expect(page.contains("hears &lt;b&gt;&amp;"))
        #expect(page.contains("<circle "), "the one answer is a dot")
        let calls = try text("calls.csv")
        let path = bench.folder.appending(path: "calls.csv").path()
        let reader = try CSVReader(path: path)
        var rows: [[String]] = []
        while let row = try reader.next() { rows.append(row.fields) }
        #expect(rows.count == 6 && rows.allSatisfy { $0.count == 14 }, "\(calls)")
        #expect(rows.map { $0[1] } == ["attempt", "1", "1", "1", "2", "1"])
        #expect(try text("results.jsonl").split(separator: "\n").count == 5)
        let object = try JSONSerialization.jsonObject(with: Data(text("summary.json").utf8)) as? [String: Any]
        #expect(object?["failed"] as? Int == 2)
        for name in CampaignReport.files {
            #expect(!FileManager.default.fileExists(atPath: bench.folder.appending(path: name + ".part").path()))
        }
    }

    /// Both halves of a test are in every report.
    @Test func partiesAreReportedWithTheirHalves() throws {
        let bench = try CampaignTests.Bench("number\n1\n2\n")
        let plan = try CampaignTests.Bench.plan().replacingTarget()
        _ = try bench.open(plan)
        bench.go(plan) { attempt in
            let isGood = attempt.row == 1
            let call = """
                {"result":"passed","sip":{"status":200},"ended":{"cause":"normal","detail":""},\
                "timings":{"duration_ms":2500.0},"media":{"mos":4.2}}
                """
            let party = """
                {"party":"agent<","calls":\(isGood ? 1 : 0),"number":"200","setup_ms":12.5,"heard":{"latency_ms":40},\
                "was_heard":{"latency_ms":60.5},"call":\(isGood ? call : "null")}
                """
            let json = """
                {"expectations":[{"name":"agent< is called","passed":\(isGood),"actual":"was not called"}],"parties":[\(party)]}
                """
            return (.seconds(1), AttemptResult(verdict: isGood ? .passed : .failed, cause: .normal, status: 200, json: json))
        }
        let folder = bench.folder.path()
        let summary = try bench.database!.performAndWait { connection throws(StoreError) in
            try CampaignReport.write("two halves", into: folder, wasStopped: false, wasCut: false, connection)
        }
        #expect(summary.setUp.count == 2 && summary.latency.count == 4)
        func text(_ name: String) throws -> String { try String(contentsOf: bench.folder.appending(path: name), encoding: .utf8) }
        let calls = try text("calls.csv").split(separator: "\r\n").map(String.init)
        #expect(calls.count == 5)
        #expect(
            calls[1].hasSuffix(",caller,,60.5") && calls[2].hasSuffix(",200,normal,,2500.0,4.2,,agent<,12.5,40.0"), "\(calls)")
        #expect(calls[4].contains("was not called,agent<"))
        let junit = try text("junit.xml")
        #expect(XMLParser(data: Data(junit.utf8)).parse())
        #expect(junit.contains("agent&lt;: was not called"))
        let page = try text("report.html")
        #expect(page.contains("agent&lt;: was not called") && page.contains("Set-up through the system, ms"))
        #expect(page.contains("Audio through the system, ms") && !page.contains("agent<"))
        #expect(try text("summary.json").contains("\"setup\":{"))
    }

    /// Numbers and words of the far end are no formulas for whoever opens the table, and numbers stay numbers.
    @Test func noCellIsAFormula() throws {
        let bench = try CampaignTests.Bench("number\n1\n")
        let plan = try CampaignTests.Bench.plan().replacingTarget()
        _ = try bench.open(plan)
        let numbers = ["=HYPERLINK(\"http://192.0.2.1\")", "@SUM(1)", "+1+cmd", "-1|x", "+49301234", "-5", "200"]
        bench.go(plan) { _ in
            let parties = numbers.map { Value.object(["party": .string("agent"), "calls": .int(1), "number": .string($0)]) }
            let json = Value.object(["parties": .list(parties)]).json
            return (.seconds(1), AttemptResult(verdict: .passed, cause: .normal, status: 200, json: json))
        }
        let folder = bench.folder.path()
        _ = try bench.database!.performAndWait { connection throws(StoreError) in
            try CampaignReport.write("formulas", into: folder, wasStopped: false, wasCut: false, connection)
        }
        let reader = try CSVReader(path: bench.folder.appending(path: "calls.csv").path())
        var cells: [String] = []
        while let row = try reader.next() { cells.append(row.fields[2]) }
        #expect(cells.dropFirst(2) == numbers[..<4].map { "'\($0)" } + numbers[4...])
    }

    @Test func aFolderThatCannotBeWrittenIsNamed() throws {
        let bench = try CampaignTests.Bench("number\n1\n")
        let plan = try CampaignTests.Bench.plan().replacingTarget()
        _ = try bench.open(plan)
        let problem = #expect(throws: StoreError.self) {
            try bench.database!.performAndWait { connection throws(StoreError) in
                try CampaignReport.write("x", into: "/not/there", wasStopped: false, wasCut: false, connection)
            }
        }
        #expect(problem?.message == "/not/there/results.jsonl cannot be written")
    }
}

extension CampaignPlan {
    /// The same for lists without a column `host`.
    fileprivate func replacingTarget() throws -> CampaignPlan {
        var plan = self
        plan.to = try Template.parse("sip:${target.number}@host")
        return plan
    }
}
