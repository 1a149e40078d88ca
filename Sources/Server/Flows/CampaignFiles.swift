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

    private static func check(list plan: CampaignPlan) -> [Diagnostic] {
        var findings: [Diagnostic] = []
        do throws(CSVProblem) {
            let list = try TargetList(path: plan.list)
            while let target = try list.next() {
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
        } catch {
            let place = SourcePlace(file: error.path, line: error.line, column: 1)
            findings.append(Diagnostic(.error, at: place, error.message, mend: error.mend))
        }
        return findings
    }
}
