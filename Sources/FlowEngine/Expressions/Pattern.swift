// Regular expressions of flows: RE2, in time linear in the text.
internal import CRE2

/// A compiled regular expression (RE2 syntax).
package final class Pattern: Sendable {
    /// As it was written.
    package let text: String
    // RE2 documents its compiled objects as safe to match from several threads at once; it is written only in `init` and `deinit`.
    private nonisolated(unsafe) let compiled: OpaquePointer

    /// The longest pattern, in bytes.
    package static let longest = 2048

    /// Compiles `text`; a mistake in it is an error of the kind `invalidArgument`.
    package init(_ text: String, ignoringCase: Bool = false) throws(ExpressionError) {
        var text = text
        guard text.utf8.count <= Self.longest else {
            throw ExpressionError(.limit, "the pattern is longer than \(Self.longest) bytes")
        }
        var reason = [CChar](repeating: 0, count: 200)
        let compiled = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                cre2_compile(characters.baseAddress, characters.count, ignoringCase, &reason, reason.count)
            }
        }
        guard let compiled else {
            let bytes = reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            throw ExpressionError(
                .invalidArgument, "the pattern \"\(text.prefix(60))\" is wrong: \(String(decoding: bytes, as: UTF8.self))")
        }
        self.text = text
        self.compiled = compiled
    }

    deinit {
        cre2_free(compiled)
    }

    /// Whether it matches somewhere in the text (`whole`: the whole text).
    package func matches(_ text: String, whole: Bool = false) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                cre2_search(compiled, characters.baseAddress, characters.count, whole, nil, 0)
            }
        }
    }
}
