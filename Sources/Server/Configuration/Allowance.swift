// What flows may call and fetch. A target that a flow computed from what a caller sent must not reach more than the operator named, so
// targets that carry anything to redirect them elsewhere are refused, whatever the patterns say.

/// The patterns of `allow`. `*` in a pattern stands for any run of signs that cannot end the part of the address that it stands in.
package struct Allowance: Equatable, Sendable {
    /// Targets that may be dialled; nothing else is.
    package var bridge: [String]
    /// URLs that may be requested; nothing else is.
    package var request: [String]

    package init(bridge: [String] = [], request: [String] = []) {
        self.bridge = bridge
        self.request = request
    }

    /// Whether a flow may call `target`: a `sip:`, `sips:`, `tel:`, `user:` or `line:` target.
    package func permitsBridge(to target: String) -> Bool {
        guard let plain = Self.withoutParameters(target) else { return false }
        return bridge.contains { Self.matches(pattern: Self.folded($0), text: Self.folded(plain), breaks: "@;?,<>/:[] \t\"%") }
    }

    /// Whether a flow may request `url`.
    package func permitsRequest(to url: String) -> Bool {
        request.contains { Self.covers(url, by: $0) }
    }

    /// Whether a pattern of URLs is meant for `url`; nothing is for one that might lead elsewhere than it says.
    static func covers(_ url: String, by pattern: String) -> Bool {
        guard url.allSatisfy({ $0.isASCII && !$0.isWhitespace && $0 != "\\" && $0 != "@" }) else { return false }
        let path = url.prefix { $0 != "?" && $0 != "#" }.lowercased()
        guard !path.replacing("%2e", with: ".").contains("/..") else { return false }
        // In the host a star ends at the next dot's label or port; in the path it takes what follows.
        guard let slash = startOfPath(pattern), let urlSlash = startOfPath(url) else { return folded(pattern) == folded(url) }
        return matches(pattern: pattern[..<slash].lowercased(), text: url[..<urlSlash].lowercased(), breaks: "/:.@")
            && matches(pattern: String(pattern[slash...]), text: String(url[urlSlash...]), breaks: "")
    }

    /// Why a flow may not call `target`, for its log; nil when it may.
    package func refusal(ofBridge target: String) -> String? {
        permitsBridge(to: target) ? nil : "the configuration does not allow calls to \(target) (allow.bridge)"
    }

    /// Why a flow may not request `url`, for its log; nil when it may.
    package func refusal(ofRequest url: String) -> String? {
        permitsRequest(to: url) ? nil : "the configuration does not allow requests to \(url) (allow.request)"
    }

    /// The target without parameters that say nothing about where the call goes; nil when there are others (maddr, route, headers, …).
    private static func withoutParameters(_ target: String) -> String? {
        guard !target.contains("?") else { return nil }
        let parts = target.split(separator: ";", omittingEmptySubsequences: false)
        for parameter in parts.dropFirst() {
            let pair = parameter.lowercased().split(separator: "=", maxSplits: 1).map(String.init)
            let isHarmless =
                pair == ["user", "phone"] || (pair.first == "transport" && ["udp", "tcp", "tls"].contains(pair.last ?? ""))
            guard isHarmless, pair.count == 2 else { return nil }
        }
        return parts.first.map(String.init)
    }

    /// Scheme and host compare without case, the user part with it (RFC 3261, section 19.1.4).
    private static func folded(_ target: String) -> String {
        guard let colon = target.firstIndex(of: ":") else { return target }
        let scheme = target[..<colon].lowercased()
        let rest = target[colon...]
        guard let at = rest.lastIndex(of: "@") else {
            return scheme + (scheme == "sip" || scheme == "sips" ? rest.lowercased() : String(rest))
        }
        return scheme + rest[..<at] + rest[at...].lowercased()
    }

    private static func startOfPath(_ url: String) -> String.Index? {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        return url[scheme.upperBound...].firstIndex(of: "/")
    }

    /// Wildcard match in linear space; `breaks` are the signs that a star never covers.
    static func matches(pattern: String, text: String, breaks: String) -> Bool {
        let pattern = Array(pattern.utf8)
        let text = Array(text.utf8)
        let breaks = Set(breaks.utf8)
        let star = UInt8(ascii: "*")
        var at = 0
        var index = 0
        /// Where to go on when the latest star takes one sign more; nil without one, or when it cannot.
        var retry: (pattern: Int, text: Int)?
        while index < text.count || at < pattern.count {
            if at < pattern.count, pattern[at] == star {
                retry = (at + 1, index)
                at += 1
            } else if at < pattern.count, index < text.count, pattern[at] == text[index] {
                at += 1
                index += 1
            } else if let back = retry, back.text < text.count, !breaks.contains(text[back.text]) {
                retry = (back.pattern, back.text + 1)
                at = back.pattern
                index = back.text + 1
            } else {
                return false
            }
        }
        return true
    }
}
