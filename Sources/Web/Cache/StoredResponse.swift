// What is kept of a response beside its body, and how long it may be used. RFC 9111, as a private cache; RFC 5861 for `stale-if-error`.
// A value: the clock is the caller's. Times are seconds since 1970.

/// A response to GET that was kept.
package struct StoredResponse: Equatable, Sendable {
    /// Names the URL that the body came from in the end, after redirects. Not the URL itself: it may hold secrets, and this goes to disk.
    package var source: String
    /// The fields that caching needs, by their names in lower case.
    package var fields: [String: String]
    package var requestedAt: Double
    package var receivedAt: Double
    /// How long redirects on the way may be used, in seconds; nil: none sets a limit.
    package var redirectLifetime: Double?
    /// The body's file as it was written: its size, and when it was changed in nanoseconds.
    package var size: Int64
    package var changed: Int64

    private static let kept = [
        "cache-control", "etag", "last-modified", "date", "age", "expires", "vary"
    ]
    /// Section 4.2.2 leaves the guess of a lifetime to the cache: a tenth of the response's age, a day at most.
    private static let longestGuess = 86_400.0

    package init(source: String, _ headers: HTTPFields, requestedAt: Double, receivedAt: Double, redirectLifetime: Double? = nil)
    {
        self.source = source
        self.requestedAt = requestedAt
        self.receivedAt = receivedAt
        self.redirectLifetime = redirectLifetime
        (size, changed) = (0, 0)
        fields = [:]
        take(headers)
    }

    private mutating func take(_ headers: HTTPFields) {
        for name in Self.kept {
            let values = headers.all.filter { $0.name.lowercased() == name }.map(\.value)
            guard !values.isEmpty else { continue }
            // Lists may stand in several lines (RFC 9110 section 5.3); of the others the first counts.
            fields[name] = name == "cache-control" || name == "vary" ? values.joined(separator: ", ") : values[0]
        }
    }

    /// A 304 says that it is still good: its fields replace what was kept (section 4.3.4).
    package mutating func freshen(_ headers: HTTPFields, requestedAt: Double, receivedAt: Double, redirectLifetime: Double?) {
        fields["age"] = nil
        take(headers)
        self.requestedAt = requestedAt
        self.receivedAt = receivedAt
        self.redirectLifetime = redirectLifetime
    }

    // MARK: What may be done with it

    /// It may be used for the one who asked, and is then forgotten.
    package var isForbidden: Bool { control["no-store"] != nil }

    /// Until then it may be used without asking (section 4.2).
    package var freshUntil: Double {
        guard !isForbidden, control["no-cache"] == nil, fields["vary"]?.contains("*") != true else { return -.infinity }
        return receivedAt - age(at: receivedAt) + min(lifetime, redirectLifetime ?? .infinity)
    }

    /// Nothing in it tells how long it is good.
    package var saysNothing: Bool { fields["cache-control"] == nil && fields["expires"] == nil }

    /// It may be used while nobody answers (section 4.2.4).
    package func mayBeStale(at now: Double) -> Bool {
        guard !isForbidden, control["no-cache"] == nil, control["must-revalidate"] == nil else { return false }
        guard let limit = control["stale-if-error"] else { return true }
        return age(at: now) - lifetime <= Self.seconds(limit)
    }

    /// The fields that ask whether it is still good (section 4.3.1); empty: nothing in it tells one state from another.
    package var conditions: [HTTPField] {
        var result: [HTTPField] = []
        if let tag = fields["etag"] { result.append(HTTPField("If-None-Match", tag)) }
        if let date = fields["last-modified"] { result.append(HTTPField("If-Modified-Since", date)) }
        return result
    }

    /// Section 4.2.3.
    package func age(at now: Double) -> Double {
        let apparent = max(0, receivedAt - date)
        let told = (fields["age"].map(Self.seconds) ?? 0) + receivedAt - requestedAt
        return max(apparent, told) + max(0, now - receivedAt)
    }

    /// Seconds from its making on, section 4.2.1. A value that cannot be read makes it stale.
    package var lifetime: Double {
        if let text = control["max-age"] { return Self.seconds(text) }
        if let text = fields["expires"] { return HTTPDate.seconds(text).map { max(0, $0 - date) } ?? 0 }
        guard let changed = fields["last-modified"].flatMap(HTTPDate.seconds), changed < date else { return 0 }
        return min((date - changed) / 10, Self.longestGuess)
    }

    private var date: Double { fields["date"].flatMap(HTTPDate.seconds) ?? receivedAt }

    /// The directives of Cache-Control, by name in lower case; of several with one name the first counts.
    private var control: [String: String] { Self.directives(fields["cache-control"] ?? "") }

    private static func directives(_ text: String) -> [String: String] {
        var result: [String: String] = [:]
        for part in text.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = trimmed(pair[0]).lowercased()
            guard !name.isEmpty, result[name] == nil else { continue }
            result[name] = pair.count == 2 ? trimmed(pair[1]).filter { $0 != "\"" } : ""
        }
        return result
    }

    private static func trimmed(_ text: Substring) -> String {
        var rest = text.drop(while: \.isWhitespace)
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }

    /// Section 1.2.2: too large a number is a very long time; what is no number is none.
    private static func seconds(_ text: String) -> Double {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return 0 }
        return Double(UInt32(text) ?? .max)
    }

    // MARK: As a file

    /// A line a field.
    package var note: [UInt8] {
        var lines = [
            "source \(source)", "requested \(requestedAt)", "received \(receivedAt)", "size \(size)", "changed \(changed)"
        ]
        if let redirectLifetime { lines.append("redirect \(redirectLifetime)") }
        lines += fields.sorted { $0.key < $1.key }.map { "field \($0.key) \($0.value)" }
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// nil for what `note` has not made.
    package init?(note: [UInt8]) {
        var values: [String: String] = [:]
        fields = [:]
        for line in String(decoding: note, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { return nil }
            guard parts[0] == "field" else {
                values[parts[0]] = parts[1]
                continue
            }
            let field = parts[1].split(separator: " ", maxSplits: 1).map(String.init)
            if field.count == 2 { fields[field[0]] = field[1] }
        }
        guard let source = values["source"], let requested = values["requested"].flatMap(Double.init),
            let received = values["received"].flatMap(Double.init), let size = values["size"].flatMap(Int64.init),
            let changed = values["changed"].flatMap(Int64.init)
        else { return nil }
        (self.source, requestedAt, receivedAt, self.size, self.changed) = (source, requested, received, size, changed)
        redirectLifetime = values["redirect"].flatMap(Double.init)
    }
}
