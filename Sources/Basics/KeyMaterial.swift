/// The octets of a key. It never prints itself; whoever needs them asks for them by name.
package struct KeyMaterial: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The octets, for the one place that encrypts with them or writes them down for the far side.
    package let revealed: [UInt8]

    package init(_ octets: [UInt8]) {
        revealed = octets
    }

    /// So many octets that nobody can guess: from the system's source for keys.
    package static func random(_ count: Int) -> KeyMaterial {
        var source = SystemRandomNumberGenerator()
        return KeyMaterial((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &source) })
    }

    package var description: String { "•••" }
    package var debugDescription: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
