// Where expressions find the values of names.

/// Gives the values of names, when they are asked for. Called on the thread that evaluates, for each use of a name.
package protocol Scope {
    /// The value now, or nil when there is no such name. What is known but not set is `.null`.
    func value(named name: String) -> Value?
}

/// A scope of fixed values.
package struct MapScope: Scope, Sendable {
    package var values: [String: Value]

    package init(_ values: [String: Value] = [:]) {
        self.values = values
    }

    package func value(named name: String) -> Value? { values[name] }
}
