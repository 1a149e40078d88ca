// What a body holds for a call: the session description, by itself or as a part of a multipart body (RFC 2046 section 5.1, RFC 5621).
// Other parts (ISUP, locations, metadata) are not read: one whose handling is optional is passed over, one that is required makes the body
// one that is not understood. Encodings that change octets (base64, quoted-printable, gzip) are not undone.

/// What was found in a body.
package struct BodyContent: Sendable {
    /// Where the session description lies in the message; nil without one.
    package var description: OctetRange?
    /// Nothing that has to be understood is foreign.
    package var isUnderstood: Bool
    /// A multipart body that cannot be taken apart: it has no boundary or no part, too many parts, or too many within each other.
    package var isMalformed = false
}

extension Message {
    /// The session description, wherever in the body it lies; nil without one.
    package var sessionDescription: ArraySlice<UInt8>? {
        if hasBody(ofType: "application/sdp") { return body }
        return isMultipart ? multipartContent.description.map { self[$0] } : nil
    }

    /// The body is one of several parts.
    package var isMultipart: Bool {
        guard !bodyRange.isEmpty, let row = firstRow(.contentType) else { return false }
        return octets.withUnsafeBufferPointer { BodyPart.mediaType($0.baseAddress!, row.value).isMultipart }
    }

    /// What the parts of a multipart body hold.
    package var multipartContent: BodyContent {
        octets.withUnsafeBufferPointer { buffer in
            var reader = MultipartReader(base: buffer.baseAddress!)
            let whole = BodyPart(
                type: firstRow(.contentType)?.value ?? .none, disposition: firstRow(.contentDisposition)?.value ?? .none,
                content: bodyRange)
            var content = reader.read(whole, depth: 0)
            content.isMalformed = reader.isMalformed
            return content
        }
    }
}

/// A part, or the body itself. Ranges are empty for what it does not say.
struct BodyPart {
    var type = OctetRange.none
    var disposition = OctetRange.none
    /// Content-Transfer-Encoding, and Content-Encoding of a part.
    var encoding = OctetRange.none
    var coding = OctetRange.none
    var id = OctetRange.none
    var content = OctetRange.none

    /// The type without parameters, the place of its subtype, and where the parameters begin.
    static func mediaType(
        _ base: UnsafePointer<UInt8>, _ value: OctetRange
    ) -> (name: OctetRange, subtype: OctetRange, parameters: OctetRange, isMultipart: Bool) {
        let end = Octet.first(Octet.semicolon, base, Int(value.start), Int(value.end))
        let name = trimmed(base, Int(value.start), end)
        let slash = Octet.first(Octet.slash, base, Int(name.start), Int(name.end))
        let isMultipart = equalsIgnoringCase(base, trimmed(base, Int(name.start), slash), "multipart")
        return (
            name, trimmed(base, min(slash + 1, Int(name.end)), Int(name.end)), OctetRange(end, Int(value.end)), isMultipart
        )
    }

    /// Whether it may be passed over: it says so (RFC 3261 section 20.11), or something else refers to it by its Content-ID (RFC 5621
    /// section 5, as locations do, which often leave out the disposition `by-reference`).
    func isOptional(_ base: UnsafePointer<UInt8>) -> Bool {
        let (name, _, parameters, _) = Self.mediaType(base, disposition)
        if let handling = Parameters.find(base, parameters, "handling")?.value {
            return equalsIgnoringCase(base, Parameters.withoutQuotes(base, handling), "optional")
        }
        return name.isEmpty ? !id.isEmpty : equalsIgnoringCase(base, name, "by-reference")
    }

    /// It is the description of the session: of no other one (`early-session`, RFC 3959), and not encoded.
    func isDescription(_ base: UnsafePointer<UInt8>, type name: OctetRange) -> Bool {
        let use = Self.mediaType(base, disposition).name
        return equalsIgnoringCase(base, name, "application/sdp") && isPlain(base)
            && (use.isEmpty || equalsIgnoringCase(base, use, "session"))
    }

    /// Its octets stand for themselves.
    func isPlain(_ base: UnsafePointer<UInt8>) -> Bool {
        (coding.isEmpty || equalsIgnoringCase(base, coding, "identity"))
            && (encoding.isEmpty || equalsIgnoringCase(base, encoding, "binary") || equalsIgnoringCase(base, encoding, "8bit")
                || equalsIgnoringCase(base, encoding, "7bit"))
    }
}
