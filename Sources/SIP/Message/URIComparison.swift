// When two SIP URIs are the same (RFC 3261 section 19.1.4). Other schemes are compared octet by octet, without case in the scheme.

extension URI {
    /// Whether both name the same resource by section 19.1.4.
    package func isEquivalent(to other: URI) -> Bool {
        guard scheme == other.scheme else { return false }
        guard isSIP else { return equalsIgnoringCase(octets[range.indices], other.octets[other.range.indices]) }
        guard hasUser == other.hasUser, port == other.port,
            unescaped(octets[userRange.indices]) == unescaped(other.octets[other.userRange.indices]),
            unescaped(octets[passwordRange.indices]) == unescaped(other.octets[other.passwordRange.indices]),
            equalsIgnoringCase(octets[hostRange.indices], other.octets[other.hostRange.indices])
        else { return false }
        return haveSameParameters(other) && other.haveSameParameters(self) && haveSameHeaders(other)
    }

    /// Parameters in both must match; user, ttl, method, maddr and transport in one only never match.
    /// Of a name that stands twice, which section 19.1.1 forbids, the first counts on both sides.
    private func haveSameParameters(_ other: URI) -> Bool {
        var seen: Set<[UInt8]> = []
        for (name, value) in pairs(parametersRange, separator: Octet.semicolon) {
            let key = lowered(octets[name.indices])
            guard seen.insert(key).inserted else { continue }
            if let match = other.pairs(other.parametersRange, separator: Octet.semicolon).first(where: {
                lowered(other.octets[$0.name.indices]) == key
            }) {
                let mine = value.map { lowered(octets[$0.indices]) } ?? []
                let theirs = match.value.map { lowered(other.octets[$0.indices]) } ?? []
                if mine != theirs { return false }
            } else if ["user", "ttl", "method", "maddr", "transport"].contains(text(key)) {
                return false
            }
        }
        return true
    }

    /// Headers are never ignored: both must hold the same ones.
    private func haveSameHeaders(_ other: URI) -> Bool {
        let mine = headers.map { [$0.name.lowercased(), $0.value] }.sorted { $0.lexicographicallyPrecedes($1) }
        let theirs = other.headers.map { [$0.name.lowercased(), $0.value] }.sorted { $0.lexicographicallyPrecedes($1) }
        return mine == theirs
    }

    private func lowered(_ octets: some Collection<UInt8>) -> [UInt8] { unescaped(octets).map(Octet.lower) }
}
