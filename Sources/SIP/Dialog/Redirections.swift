// Where a call goes on that was redirected (RFC 3261 section 8.1.3.4): the contacts of 300, 301 and 302 in the order of their preference, each
// once, so many in all. A value; who may be called is the caller's business.

/// The targets of one call that was redirected.
package struct Redirections: Sendable {
    private var seen: [URI]
    /// Contacts that are left to try, the next one last.
    private var waiting: [URI] = []
    private var left: Int
    /// A call that asked for TLS goes on by TLS only.
    private let isSecure: Bool
    /// Octets of a contact: more is no honest target.
    private static let longest = 512

    /// - Parameter limit: how many contacts may be tried.
    package init(from first: URI, limit: Int) {
        seen = [first]
        left = limit
        isSecure = first.scheme == .sips
    }

    /// Whether a status sends the call elsewhere. 305 and 380 do not: the one is a proxy's business, the other another service.
    package static func isFollowed(_ status: Int) -> Bool { (300...302).contains(status) }

    /// Takes the contacts of a redirection. They come before those that are still left from an earlier one; of equal preference the
    /// first goes first.
    package mutating func take(_ response: Message) {
        let contacts = ((try? response.contacts()) ?? []).enumerated().compactMap { place, contact -> (URI, Int, Int)? in
            guard !contact.isWildcard, let uri = try? contact.uri(), uri.isSIP, uri.scheme == .sips || !isSecure,
                uri.range.count <= Self.longest
            else { return nil }
            return (uri, preference(contact), -place)
        }
        waiting += contacts.sorted { ($0.1, $0.2) < ($1.1, $1.2) }.map(\.0)
    }

    /// `q` in thousandths; 1000 without one (section 20.10).
    private func preference(_ contact: NameAddress) -> Int {
        guard let text = contact.parameters["q"].map({ text($0) }), let value = Double(text), (0...1).contains(value) else {
            return 1000
        }
        return Int((value * 1000).rounded())
    }

    /// The next target, without headers and without what is no part of a Request-URI (section 19.1.1); nil when there is none, or the
    /// limit is reached. One that was tried already is left out: so loops end.
    package mutating func next() -> URI? {
        while left > 0, let found = waiting.popLast() {
            guard let uri = found.asRequestURI, !seen.contains(where: { $0.isEquivalent(to: uri) }) else { continue }
            seen.append(uri)
            left -= 1
            return uri
        }
        return nil
    }
}

extension URI {
    /// Without headers and the parameter `method`.
    fileprivate var asRequestURI: URI? {
        let end = headersRange.isEmpty ? Int(range.end) : Int(headersRange.start) - 1
        var result = text(octets[Int(range.start)..<end])
        if parameter("method") != nil {
            let kept = result.split(separator: ";").filter { !$0.lowercased().hasPrefix("method=") }
            result = kept.joined(separator: ";")
        }
        return try? URI(result)
    }
}
