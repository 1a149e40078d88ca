/// A password or token. It never prints itself; whoever needs the text asks for it by name.
package struct Secret: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text, for the one place that sends or hashes it.
    package let revealed: String

    package init(_ text: String) {
        revealed = text
    }

    package var description: String { "•••" }
    package var debugDescription: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
