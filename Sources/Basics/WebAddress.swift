// URLs as logs and events may show them, without a library.

package enum WebAddress {
    /// `https://host:port/path`: without user name, password, query and fragment, any of which may be secret; control signs become
    /// spaces.
    package static func withoutSecrets(_ url: String) -> String {
        let bare = url.prefix { $0 != "?" && $0 != "#" }
        let clean = String(String.UnicodeScalarView(bare.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
        guard let scheme = clean.firstRange(of: "://") else { return clean.contains("@") ? "…" : clean }
        let rest = clean[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "\\" }
        guard let at = authority.lastIndex(of: "@") else { return clean }
        return String(clean[..<scheme.upperBound] + rest[rest.index(after: at)...])
    }

    /// Whether two URLs of http or https have the scheme, the host and the port in common (RFC 6454 section 5), as they are written.
    package static func haveSameOrigin(_ one: String, _ other: String) -> Bool {
        func origin(_ url: String) -> String? {
            guard let scheme = url.firstRange(of: "://") else { return nil }
            return (url[..<scheme.upperBound] + url[scheme.upperBound...].prefix { !"/?#\\".contains($0) }).lowercased()
        }
        guard let one = origin(one) else { return false }
        return one == origin(other)
    }

    /// Whether it begins as one that is fetched over HTTP: `http://` or `https://`, in any case.
    package static func isFetched(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }
}
