// A campaign's file with what it names: its flow and its list.

import Dialer
package import FlowEngine

package enum CampaignFiles {
    /// All findings about a campaign: its own, its flow's, and what is wrong with its list. The list is read to its end.
    package static func check(_ file: String) -> [Diagnostic] {
        let result = CampaignReader.read(path: file)
        guard let plan = result.plan else { return result.diagnostics }
        let names = Set(plan.vars.map(\.name))
        return result.diagnostics + FlowFiles.load(plan.flow, arguments: names).diagnostics + check(list: plan)
    }

    /// What is wrong with the list of a plan, of which so many rows are read.
    static func check(list plan: CampaignPlan, rows: Int = .max) -> [Diagnostic] {
        var findings: [Diagnostic] = []
        var read = 0
        do throws(CSVProblem) {
            let list = try TargetList(path: plan.list)
            while read < rows, let target = try list.next() {
                read += 1
                guard findings.isEmpty else { continue }
                do throws(ExpressionError) {
                    _ = try plan.to.text(
                        in: MapScope(["target": target.value, "campaign": .object(["name": .string(plan.name)])]))
                } catch {
                    let place = SourcePlace(file: plan.list, line: target.line, column: 1)
                    findings.append(
                        Diagnostic(
                            .error, at: place, "`to` cannot be told for this row: \(error.message)", mend: "look at the columns"))
                }
            }
            if read == 0 {
                let place = SourcePlace(file: plan.list, line: 1, column: 1)
                findings.append(Diagnostic(.error, at: place, "the list has no rows", mend: "nobody would be called"))
            }
        } catch {
            let place = SourcePlace(file: error.path, line: error.line, column: 1)
            findings.append(Diagnostic(.error, at: place, error.message, mend: error.mend))
        }
        return findings
    }
}
