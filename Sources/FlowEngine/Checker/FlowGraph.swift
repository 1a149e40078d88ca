// The ways through a flow: which sections are reached, where nothing follows, which cycles take no time or have no way out.

struct FlowGraph {
    let flow: Flow
    let sink: DiagnosticSink

    init(flow: Flow, sink: DiagnosticSink) {
        self.flow = flow
        self.sink = sink
    }

    /// What a block can lead to.
    private struct Ways {
        /// nil: control never leaves at the end. true: time has passed on every way to it.
        var end: Bool?
        var gotos: [(section: String, place: SourcePlace, timed: Bool, by: String)] = []
        /// Something ends the call.
        var hangsUp = false

        mutating func addEnd(_ timed: Bool) { end = end.map { $0 && timed } ?? timed }
    }

    func check() {
        var ways: [String: Ways] = [:]
        for section in flow.sections { ways[section.name] = walk(section.block, timed: false) }
        let failed = flow.failed.map { walk($0, timed: false) } ?? Ways()
        if let always = flow.always { _ = walk(always, timed: false) }
        for way in Array(ways.values) + [failed] { checkTargets(way) }
        checkReach(ways, failed)
        checkAsides(ways)
        checkCycles(ways)
        checkWayOut(ways)
        checkEnds(ways)
    }

    // MARK: Blocks

    private func walk(_ block: Block, timed: Bool) -> Ways {
        var all = Ways()
        var timed = timed
        for (index, step) in block.steps.enumerated() {
            let ways = walk(step, timed: timed)
            all.gotos += ways.gotos
            all.hangsUp = all.hangsUp || ways.hangsUp
            guard let after = ways.end else {
                if index + 1 < block.steps.count {
                    let next = block.steps[index + 1]
                    sink.warning(at: next.place, "`\(next.name)` is never reached: `\(step.name)` before it does not come back")
                }
                return all
            }
            timed = after
        }
        all.addEnd(timed)
        return all
    }

    private func walk(_ step: Step, timed: Bool) -> Ways {
        let shape = step.verb.shape
        let after = timed || shape.takesTime
        var ways = Ways()
        if let goto = shape.goto { ways.gotos.append((goto.section, goto.place, timed, GotoVerb.name)) }
        for aside in shape.aside { ways.gotos.append((aside.section, aside.place, true, aside.key)) }
        var inner: [Ways] = shape.branches.map { walk($0, timed: after) }
        if shape.loopsForever, let body = inner.first { checkEndlessRepeat(body, step) }
        // A step can fail before any time has passed.
        for (outcome, block) in step.on.sorted(by: { $0.key < $1.key }) {
            inner.append(walk(block, timed: outcome == "failed" ? timed : after))
        }
        for way in inner {
            ways.gotos += way.gotos
            ways.hangsUp = ways.hangsUp || way.hangsUp
            if let end = way.end, !shape.loopsForever { ways.addEnd(end) }
        }
        let unhandled = shape.exhaustive.map { outcomes in outcomes.contains { step.on[$0] == nil } } ?? true
        if shape.continues && unhandled { ways.addEnd(after) }
        if !shape.continues, shape.goto == nil, shape.branches.isEmpty { ways.hangsUp = true }
        return ways
    }

    private func checkEndlessRepeat(_ body: Ways, _ step: Step) {
        if body.end == false {
            sink.error(
                at: step.place, "this `repeat` takes no time and has no end", mend: "add `times`, `while`, `until` or a `wait`")
        } else if body.end == true, body.gotos.isEmpty, !body.hangsUp {
            sink.warning(at: step.place, "this `repeat` ends only when the other side hangs up")
        }
    }

    // MARK: Sections

    private func checkTargets(_ ways: Ways) {
        for goto in ways.gotos where flow.section(goto.section) == nil {
            NodeRead.unknown("section", goto.section, of: "`\(goto.by)`", at: goto.place, known: flow.sections.map(\.name), sink)
        }
    }

    /// What runs beside a bridge takes no call out of it.
    private func checkAsides(_ ways: [String: Ways]) {
        var seen: Set<String> = []
        for aside in ways.values.flatMap(\.gotos) where aside.by != GotoVerb.name && seen.insert(aside.section).inserted {
            flow.section(aside.section)?.block.forEachStep { step in
                guard type(of: step.verb).takesCall else { return }
                sink.error(
                    at: step.place,
                    "`\(step.name)` in a section that a bridge runs beside it (`\(aside.by)`): its call is in a bridge",
                    mend: "`goto` a section that does it: that ends the bridge")
            }
        }
    }

    private func reachable(from names: [String], _ ways: [String: Ways]) -> Set<String> {
        var reached: Set<String> = []
        var open = names
        while let name = open.popLast() {
            guard let way = ways[name], reached.insert(name).inserted else { continue }
            open += way.gotos.map(\.section)
        }
        return reached
    }

    private func checkReach(_ ways: [String: Ways], _ failed: Ways) {
        let reached = reachable(from: [flow.start] + failed.gotos.map(\.section), ways)
        for section in flow.sections where !reached.contains(section.name) && section.name != "failed" {
            sink.warning(at: section.place, "nothing leads to the section `\(section.name)`")
        }
    }

    /// A cycle of `goto` on whose way no time passes.
    private func checkCycles(_ ways: [String: Ways]) {
        var finished: Set<String> = []
        var reported: Set<String> = []
        func visit(_ name: String, _ path: [String]) {
            guard !finished.contains(name), let way = ways[name] else { return }
            for goto in way.gotos where !goto.timed {
                if let start = (path + [name]).firstIndex(of: goto.section) {
                    let cycle = Array((path + [name])[start...])
                    guard reported.insert(cycle.sorted().joined(separator: " ")).inserted else { continue }
                    sink.error(
                        at: goto.place, "a cycle that takes no time: \((cycle + [goto.section]).joined(separator: " -> "))",
                        mend: "put a prompt, a `wait` or a `collect` on the way")
                } else {
                    visit(goto.section, path + [name])
                }
            }
            finished.insert(name)
        }
        for section in flow.sections { visit(section.name, []) }
    }

    private func checkWayOut(_ ways: [String: Ways]) {
        for name in reachable(from: [flow.start], ways).sorted() {
            let onward = reachable(from: [name], ways)
            let hasEnd = onward.contains { ways[$0].map { $0.end != nil || $0.hangsUp } ?? true }
            guard !hasEnd, let section = flow.section(name) else { continue }
            sink.warning(
                at: section.place, "from the section `\(name)` there is no way out: only the other side can end the call",
                mend: "add a `hangup`, or a limit such as `tries`")
            return
        }
    }

    /// A section that just stops while another one follows it in the file: somebody may have thought that it goes on there.
    private func checkEnds(_ ways: [String: Ways]) {
        // Beside a bridge a section comes back to it.
        let asides = Set(ways.values.flatMap(\.gotos).filter { $0.by != GotoVerb.name }.map(\.section))
        for (section, next) in zip(flow.sections, flow.sections.dropFirst()) {
            guard ways[section.name]?.end != nil, !section.block.steps.isEmpty, section.name != "failed",
                !asides.contains(section.name)
            else { continue }
            sink.warning(
                at: section.place, "the section `\(section.name)` ends the call where its steps end",
                mend: "add `hangup`, or `goto: \(next.name)` if it is to go on there")
        }
    }
}
