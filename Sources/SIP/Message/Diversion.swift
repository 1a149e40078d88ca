// Diversion (RFC 5806) and History-Info (RFC 7044) tell in two ways who has sent a call on. What the one says is made into the other here, as RFC 7544
// has it: the reason stands with who sent the call on, the cause (RFC 4458) with whom it went to.
//
//   Diversion: <sip:boss@h>;reason=user-busy      History-Info: <sip:boss@h>;index=1, <sip:me@h;cause=486>;index=1.1;mp=1
//
// The counter of Diversion is written and not read: nobody knows who the others were.

package enum Diversion {
    private static let table: [(cause: Int, reason: String)] = [
        (404, "unknown"), (302, "unconditional"), (486, "user-busy"), (408, "no-answer"), (480, "deflection"),
        (503, "unavailable")
    ]

    /// The word of Diversion for a cause; nil: it has none.
    package static func reason(ofCause cause: String) -> String? {
        // 480 after ringing, 487 before (RFC 4458 section 2.5).
        table.first { "\($0.cause)" == cause || cause == "487" && $0.reason == "deflection" }?.reason
    }

    /// The cause for a reason; that of an unknown one where there is none.
    static func cause(ofReason reason: String) -> Int { table.first { $0.reason == reason.lowercased() }?.cause ?? 404 }

    /// Whether who sent the call on wants to stay unknown.
    static func isPrivate(_ address: NameAddress) -> Bool {
        address.parameters["privacy"].map { ["full", "name", "uri"].contains(text($0).lowercased()) } ?? false
    }
}

extension HistoryInfo {
    /// Of those that are read, the latest.
    private static let mostDiversions = 16

    /// Who has sent a call on by its Diversion, the latest first, and then `uri`, to whom they have sent it.
    package init(diversions: [NameAddress], to uri: [UInt8]) {
        self.init()
        var index = [1]
        var cause: Int?
        for address in diversions.prefix(Self.mostDiversions).reversed() {
            guard let by = try? address.uri(), by.scheme != .other, by.target.allSatisfy({ $0 < 128 && Octet.isURI($0) }) else {
                continue
            }
            append(Self.uri(by.target, cause, isPrivate: Diversion.isPrivate(address)), index, cause == nil ? nil : .user)
            cause = Diversion.cause(ofReason: address.parameters["reason"].map { text($0) } ?? "")
            index.append(1)
        }
        append(Self.uri(uri, cause, isPrivate: false), index, cause == nil ? nil : .user)
    }

    private static func uri(_ uri: [UInt8], _ cause: Int?, isPrivate: Bool) -> [UInt8] {
        // A tel: URI has no headers that could ask for it.
        let isHidden = isPrivate && !uri.starts(with: "sip".utf8)
        return (isHidden ? Array("sip:anonymous@anonymous.invalid".utf8) : uri)
            + Array((cause.map { ";cause=\($0)" } ?? "").utf8) + Array((isPrivate ? "?Privacy=history" : "").utf8)
    }

    private mutating func append(_ uri: [UInt8], _ index: [Int], _ mapping: Mapping?) {
        append(uri, index, mapping, from: index.dropLast())
    }

    /// The same as values of Diversion, the latest first: of each entry with a cause, who was called before it. Who wants to stay private is
    /// told without a name.
    package var asDiversion: [String] {
        entries.indices.reversed().compactMap { place in
            guard let cause = cause(at: place), let by = sender(to: place), let uri = try? entries[by].address?.uri() else {
                return nil
            }
            let reason = Diversion.reason(ofCause: cause) ?? "unknown"
            if isPrivate(at: by) { return "<sip:anonymous@anonymous.invalid>;reason=\(reason);counter=1;privacy=full" }
            return "<\(text(uri.target))>;reason=\(reason);counter=1"
        }
    }
}
