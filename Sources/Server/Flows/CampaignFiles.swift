// A campaign's file with what it names: its flow and its list.

import CallEngine
import Dialer
package import FlowEngine

package enum CampaignFiles {
    /// All findings about a campaign: its own, its flow's, and what is wrong with its list. The list is read to its end.
    package static func check(_ file: String) -> [Diagnostic] {
        let result = CampaignReader.read(path: file)
        guard let plan = result.plan else { return result.diagnostics }
        let names = Set(plan.vars.map(\.name))
        return result.diagnostics + FlowFiles.load(plan.flow, arguments: names).diagnostics
            + plan.parties.flatMap(check(party:)) + check(list: plan)
    }

    private static func check(party: PartyPlan) -> [Diagnostic] {
        guard let file = party.flow else { return [] }
        let result = FlowFiles.load(file, arguments: Set(party.vars.map(\.name)))
        guard let flow = result.flow, !flow.direction.allows(.inbound) else { return result.diagnostics }
        return result.diagnostics + [
            Diagnostic(
                .error, at: SourcePlace(file: file, line: 1, column: 1),
                "the party `\(party.name)` is called, and this flow is for calls that go out",
                mend: "write `direction: inbound` or `both`")
        ]
    }

    /// What is wrong with the list of a plan, of which so many rows are read.
    static func check(list plan: CampaignPlan, rows: Int = .max) -> [Diagnostic] {
        var findings: [Diagnostic] = []
        var read = 0
        do throws(CSVProblem) {
            let list = try TargetList(plan.list)
            while read < rows, let target = try list.next() {
                read += 1
                guard findings.isEmpty else { continue }
                var attempt = CampaignAttempt(row: read, number: 1, target: target.value)
                guard let problem = attempt.fill(from: plan) else { continue }
                let place = SourcePlace(file: plan.list.name, line: target.line, column: 1)
                findings.append(
                    Diagnostic(.error, at: place, "this row cannot be called: \(problem)", mend: "look at the columns"))
            }
            if read == 0 {
                let place = SourcePlace(file: plan.list.name, line: 1, column: 1)
                findings.append(Diagnostic(.error, at: place, "the list has no rows", mend: "nobody would be called"))
            }
        } catch {
            let place = SourcePlace(file: error.path, line: error.line, column: 1)
            findings.append(Diagnostic(.error, at: place, error.message, mend: error.mend))
        }
        return findings
    }
}
