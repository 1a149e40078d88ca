// Which flow a call gets.

package import FlowEngine

/// A line of `routes`: conditions, and what happens to a call that meets them all.
package struct Route: Sendable {
    /// What the number has to be.
    package enum Number: Sendable {
        case exactly(String)
        /// Somewhere in the number, unless it has anchors; linear time (RE2).
        case pattern(Pattern)

        func matches(_ number: String) -> Bool {
            switch self {
            case .exactly(let wanted): wanted == number
            case .pattern(let pattern): pattern.matches(number)
            }
        }
    }

    package enum Target: Hashable, Sendable {
        /// The path of a flow; relative ones are already resolved against the configuration's folder.
        case flow(String)
        /// The call is connected with this target: text with `${…}`.
        case bridge(String)
    }

    /// nil: any number.
    package var to: Number?
    /// nil: calls over any line, and over none.
    package var line: String?
    package var target: Target
    /// Start values of the flow's variables.
    package var vars: [String: Value]
    package var place: SourcePlace

    package init(
        to: Number? = nil, line: String? = nil, target: Target, vars: [String: Value] = [:], place: SourcePlace
    ) {
        self.to = to
        self.line = line
        self.target = target
        self.vars = vars
        self.place = place
    }

    func matches(number: String, line: String) -> Bool {
        if let wanted = self.line, wanted != line { return false }
        return to?.matches(number) != false
    }
}
