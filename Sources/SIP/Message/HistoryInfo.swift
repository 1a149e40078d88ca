// History-Info (RFC 7044): where a request has been on its way, an entry for each target. What came is kept as it is written; entries of this end
// are added, numbered by section 10.3. A value.
//
//   <sip:100@host?Reason=SIP%3Bcause%3D486>;index=1, <sip:sales@pbx>;index=1.1;mp=1
//
//   an entry that is missing             the last index and .0, or 1 where there is none
//   the first target this end chooses    the index of its own entry and .1
//   the next ones, also after a 3xx      the last number one higher

package struct HistoryInfo: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        /// The whole entry as it stands in the row.
        package fileprivate(set) var value: [UInt8]
        /// `1.2.1`; empty: it has none that can be read.
        package fileprivate(set) var index: [Int]

        var address: NameAddress? { try? NameAddress(value, OctetRange(0, value.count)) }
    }

    /// How a target was found.
    package enum Mapping: String, Sendable {
        /// It is a contact that somebody has registered.
        case contact = "rc"
        /// It is another user.
        case user = "mp"
    }

    package private(set) var entries: [Entry] = []
    /// More are not read: no honest call has been in so many places.
    private static let most = 64

    package init() {}

    /// What a message says; entries that cannot be read are left out.
    package init(_ message: Message) {
        for range in message.values(.historyInfo).prefix(Self.most) {
            var value = Array(message.unfolded(range).utf8)
            guard let address = try? NameAddress(value, OctetRange(0, value.count)), let uri = try? address.uri() else {
                continue
            }
            let index = Self.index(address.parameters["index"].map { text($0) })
            // Headers of the URI need its brackets; a blank in it that was let through is not passed on.
            var target = Array(uri.octets[uri.range.indices])
            let start = Int(address.uriRange.start)
            if start == 0 || value[start - 1] != Octet.less { target = [Octet.less] + target + [Octet.greater] }
            value.replaceSubrange(address.uriRange.indices, with: target)
            entries.append(Entry(value: value, index: index))
        }
    }

    private static func index(_ text: String?) -> [Int] {
        let numbers = (text ?? "").split(separator: ".", omittingEmptySubsequences: false).map { UInt16($0).map { Int($0) } }
        return numbers.contains(nil) ? [] : numbers.compactMap { $0 }
    }

    /// The index of the entry for a target that this end has got a request for or has sent one to; an entry is added where there is none.
    /// - Parameters:
    ///   - uri: what the entry of this end says.
    ///   - request: the Request-URI; parameters do not count.
    package mutating func note(_ uri: [UInt8], for request: URI) -> [Int] {
        if let known = entries.last(where: { !$0.index.isEmpty && Self.isSame(try? $0.address?.uri(), request) }) {
            return known.index
        }
        let index = entries.last.map { ($0.index.isEmpty ? [1] : $0.index) + [0] } ?? [1]
        append(uri, index)
        return index
    }

    /// Adds a target of this end.
    package mutating func append(_ uri: [UInt8], _ index: [Int], _ mapping: Mapping? = nil, from origin: [Int] = []) {
        var writer = MessageWriter(capacity: uri.count + 48)
        writer.append("<")
        writer.append(uri)
        writer.append(">;index=")
        writer.append(safe: Self.written(index))
        if let mapping { writer.append(safe: ";\(mapping.rawValue)=\(Self.written(origin))") }
        entries.append(Entry(value: writer.octets, index: index))
    }

    /// The same entries in another request, those left out whose index is there already.
    package mutating func append(contentsOf others: some Sequence<Entry>) {
        for other in others where !entries.contains(where: { $0.index == other.index }) { entries.append(other) }
    }

    /// Says of a target why the request has gone on (section 10.2); what it says already stays.
    package mutating func fail(_ index: [Int], status: Int) {
        guard let place = entries.lastIndex(where: { $0.index == index }), let uri = try? entries[place].address?.uri(),
            !uri.headers.contains(where: { $0.name.lowercased() == "reason" })
        else { return }
        let sign = uri.headersRange.isEmpty ? "?" : "&"
        entries[place].value.insert(contentsOf: "\(sign)Reason=SIP%3Bcause%3D\(status)".utf8, at: Int(uri.range.end))
    }

    /// Without the URIs that want to stay private (section 10.1.2): for who is not known to keep them so.
    package func hidingPrivate() -> HistoryInfo {
        var result = self
        for place in entries.indices where isPrivate(at: place) {
            guard let uri = try? entries[place].address?.uri() else { continue }
            result.entries[place].value.replaceSubrange(uri.range.indices, with: "sip:anonymous@anonymous.invalid".utf8)
        }
        return result
    }

    /// The rows, each ended by CRLF.
    package var rows: [UInt8] {
        var writer = MessageWriter(capacity: entries.count * 96)
        for entry in entries { writer.header("History-Info", octets: entry.value[...]) }
        return writer.octets
    }

    /// Whose calls were sent on by their user, the latest first: all but the last entry, which is the call itself, and those for which a device
    /// of the same user was found (rc) or nothing changed (np). With the reason in the words of Diversion, or the status where it has none for it.
    package var diversions: [(address: NameAddress, reason: String)] {
        let senders = entries.indices.map { sender(to: $0) }
        let causes = entries.indices.map { cause(at: $0) }
        let same = Set(
            entries.indices.compactMap { place in
                ["rc", "np"].contains { entries[place].address?.parameters[$0] != nil } ? senders[place] : nil
            })
        return entries.indices.dropLast().reversed().compactMap { place in
            guard !same.contains(place), let address = entries[place].address else { return nil }
            let next = entries.indices.first { senders[$0] == place && causes[$0] != nil }
            let cause = next.flatMap { causes[$0] } ?? Self.status(in: address)
            return (address, Diversion.reason(ofCause: cause) ?? cause)
        }
    }

    /// The cause by which a target was found (RFC 4458).
    func cause(at place: Int) -> String? { (try? entries[place].address?.uri())?.parameter("cause") }

    /// Whose entry has sent the request to a target: the one that it names, else the one before it.
    func sender(to place: Int) -> Int? {
        let parameters = entries[place].address?.parameters
        guard let named = ["mp", "rc", "np"].lazy.compactMap({ parameters?[$0] }).first else {
            return place > 0 ? place - 1 : nil
        }
        let index = Self.index(text(named))
        return entries.indices.last { $0 != place && !index.isEmpty && entries[$0].index == index }
    }

    /// Whether an entry wants to stay private (section 10.1.2).
    func isPrivate(at place: Int) -> Bool {
        guard let uri = try? entries[place].address?.uri(),
            let wish = uri.headers.first(where: { $0.name.lowercased() == "privacy" })?.value
        else { return false }
        return Self.isHidden(by: wish)
    }

    /// Whether a value of Privacy keeps it back (RFC 3323 section 4.2, section 10.1 here).
    package static func isHidden(by privacy: String) -> Bool {
        ["history", "header", "session"].contains { privacy.lowercased().contains($0) }
    }

    /// The cause of the Reason that an entry has; empty without one.
    private static func status(in address: NameAddress) -> String {
        let reason = (try? address.uri())?.headers.first { $0.name.lowercased() == "reason" }?.value ?? ""
        let cause = reason.split(separator: ";").map { $0.filter { $0 != " " } }.first { $0.lowercased().hasPrefix("cause=") }
        return cause.map { String($0.dropFirst(6)) } ?? ""
    }

    private static func written(_ index: [Int]) -> String { index.map(String.init).joined(separator: ".") }

    private static func isSame(_ left: URI?, _ right: URI) -> Bool {
        guard let left else { return false }
        return left.user == right.user && left.host.lowercased() == right.host.lowercased()
            && left.portOrDefault == right.portOrDefault
    }
}

extension URI {
    /// Whom it names, without what is about the way there: scheme, user, host and port, and the device's `gr`.
    package var target: [UInt8] {
        guard isSIP else {
            return Array(octets[Int(range.start)..<(parametersRange.isEmpty ? Int(range.end) : Int(parametersRange.start))])
        }
        var result = scheme == .sips ? "sips:" : "sip:"
        if hasUser { result += text(octets[userRange.indices]) + "@" }
        result += host + (port.map { ":\($0)" } ?? "")
        if let gr = parameter("gr") { result += gr.isEmpty ? ";gr" : ";gr=\(gr)" }
        return Array(result.utf8)
    }
}
