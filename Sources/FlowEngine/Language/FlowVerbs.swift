// What verbs a flow uses, for who has to make way for one of them.

extension Flow {
    /// Whether a step of the flow, or of a flow that it runs, is this verb.
    package func uses(_ verb: String) -> Bool {
        var found = false
        func look(_ block: Block) { block.forEachStep { found = found || $0.name == verb } }
        for section in sections { look(section.block) }
        if let failed { look(failed) }
        return found || subflows.values.contains { $0.uses(verb) }
    }
}
