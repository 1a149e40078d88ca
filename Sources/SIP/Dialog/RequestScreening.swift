// What a UA refuses before it acts on a request outside or inside a dialog (RFC 3261 sections 8.2.1 to 8.2.3, 21.4):
// methods it does not do (405), extensions it does not know (420), bodies it cannot read (415), answers it may not give (406).

/// What this end does.
package struct RequestScreening: Sendable {
    package let methods: Set<Method>
    /// Option tags, in lower case.
    package let extensions: Set<String>
    /// Those that are done for who asks for them, and that requests of ours do not name: it would ask the other side for the same.
    package let onRequest: Set<String>
    /// Content types of bodies, in lower case.
    package let bodyTypes: Set<String>
    /// What nearly every request asks for, found without hashing: one bit a method, and whether SDP is read.
    private let methodBits: UInt32
    private let readsSDP: Bool

    package init(
        methods: Set<Method> = [.invite, .ack, .bye, .cancel, .options, .info], extensions: Set<String> = [],
        onRequest: Set<String> = [], bodyTypes: Set<String> = ["application/sdp"]
    ) {
        self.methods = methods
        self.extensions = extensions
        self.onRequest = onRequest
        self.bodyTypes = bodyTypes
        methodBits = methods.reduce(0) { $0 | 1 << UInt32($1.rawValue) }
        readsSDP = bodyTypes.contains("application/sdp")
    }

    /// A refusal: its status, and header rows that go with it.
    package struct Refusal: Sendable {
        package var status: Int
        /// Whole rows, each ended by CRLF.
        package var headers: [UInt8]
    }

    /// The value of Supported.
    package var supported: String { extensions.sorted().joined(separator: ", ") }

    /// The same for who asks what is done (OPTIONS).
    package var done: String { extensions.union(onRequest).sorted().joined(separator: ", ") }

    /// The value of Allow.
    package var allow: String { Method.allCases.filter(methods.contains).map { "\($0.name)" }.joined(separator: ", ") }

    /// Why a request is refused; nil when nothing speaks against it. Proxy-Require is not for a UA. ACK and CANCEL are never
    /// refused for extensions (section 8.2.2.3).
    package func refusal(of request: Message) -> Refusal? {
        guard let method = request.method else { return nil }
        guard methodBits >> UInt32(method.rawValue) & 1 == 1 else {
            return Refusal(status: method == .other ? 501 : 405, headers: row("Allow", allow))
        }
        guard method != .ack, method != .cancel else { return nil }
        let unknown = request.tokens(.require).filter {
            !extensions.contains($0.lowercased()) && !onRequest.contains($0.lowercased())
        }
        guard unknown.isEmpty else {
            return Refusal(status: 420, headers: row("Unsupported", unknown.joined(separator: ", ")))
        }
        guard method == .invite || method == .update || method == .prack else { return nil }
        if let refusal = refusal(ofBody: request) { return refusal }
        if method == .invite, request.has(.accept), !request.values(.accept).contains(where: { accepts(request[$0]) }) {
            return Refusal(status: 406, headers: [])
        }
        return nil
    }

    /// A body may be skipped when Content-Disposition says that handling is optional (section 20.11); so may parts of one.
    private func refusal(ofBody request: Message) -> Refusal? {
        guard !request.bodyRange.isEmpty else { return nil }
        let isOptional =
            request.parameters(.contentDisposition)?["handling"].map { equalsIgnoringCase($0, "optional".utf8) } == true
        if let encoding = request.header(.contentEncoding), encoding.lowercased() != "identity" {
            return isOptional ? nil : Refusal(status: 415, headers: row("Accept-Encoding", "identity"))
        }
        if readsSDP, request.hasBody(ofType: "application/sdp") { return nil }
        if let type = request.contentType, bodyTypes.contains(type) { return nil }
        if readsSDP, request.isMultipart {
            let content = request.multipartContent
            if content.isMalformed { return isOptional ? nil : Refusal(status: 400, headers: []) }
            if content.isUnderstood { return nil }
        }
        return isOptional ? nil : Refusal(status: 415, headers: row("Accept", accept))
    }

    /// The value of Accept: what may stand in a body (RFC 5621 section 4 asks for multipart).
    package var accept: String {
        (bodyTypes.sorted() + (readsSDP ? ["multipart/alternative", "multipart/mixed", "multipart/related"] : []))
            .joined(separator: ", ")
    }

    private func accepts(_ range: ArraySlice<UInt8>) -> Bool {
        let type = text(range.prefix { $0 != Octet.semicolon }.filter { !Octet.isBlank($0) }).lowercased()
        return type == "*/*" || bodyTypes.contains(type) || (type == "application/*" && readsSDP)
            || type == "multipart/mixed"
    }

    private func row(_ name: StaticString, _ value: String) -> [UInt8] {
        var writer = MessageWriter(capacity: 64)
        writer.header(name, text: value)
        return writer.octets
    }
}
