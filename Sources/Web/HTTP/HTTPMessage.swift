// Requests and responses of HTTP as values, for the server. RFC 9110. It does not hold their wire form.

/// The methods that the server knows. RFC 9110, section 9; RFC 5789.
package enum HTTPMethod: String, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
}

/// A named value: a header field or a part of a query.
package struct HTTPField: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Named values in their order; header names compare without case.
package struct HTTPFields: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    package var all: [HTTPField]

    package init(_ all: [HTTPField] = []) {
        self.all = all
    }

    package init(dictionaryLiteral elements: (String, String)...) {
        all = elements.map { HTTPField($0.0, $0.1) }
    }

    /// The first value with that name; setting replaces all of that name.
    package subscript(name: String) -> String? {
        get { all.first { $0.name.lowercased() == name.lowercased() }?.value }
        set {
            all.removeAll { $0.name.lowercased() == name.lowercased() }
            if let newValue { all.append(HTTPField(name, newValue)) }
        }
    }
}

/// A request that the server received whole.
package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    /// The path, percent escapes decoded, beginning with `/`.
    package var path: String
    /// The parts of the query (`a=b`) in their order, escapes decoded; a part without `=` has an empty value.
    package var query: [HTTPField]
    /// What `{name}` in the route's pattern stands for.
    package var parameters: [String: String]
    /// The common fields by lower-case name, and those of `WebListener.extraHeaders`. Others are not kept.
    package var headers: HTTPFields
    package var body: [UInt8]
    /// The peer's numeric address, without the port; empty when the connection is gone already.
    package var peer: String
    package var isTLS: Bool

    package init(
        method: HTTPMethod, path: String, query: [HTTPField] = [], parameters: [String: String] = [:],
        headers: HTTPFields = [:], body: [UInt8] = [], peer: String = "", isTLS: Bool = false
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.parameters = parameters
        self.headers = headers
        self.body = body
        self.peer = peer
        self.isTLS = isTLS
    }
}

/// What the server answers. Content-Length, Date-independent framing and Connection are the server's own business.
package struct HTTPResponse: Sendable {
    /// 200 to 599.
    package var status: Int
    package var headers: HTTPFields
    package var body: [UInt8]

    package init(status: Int = 200, headers: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A response with `text/plain; charset=utf-8`.
    package static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["content-type": "text/plain; charset=utf-8"], body: Array(text.utf8))
    }
}

extension HTTPResponse {
    /// The server's own answer to what it could not hand on.
    static func problem(_ status: Int, _ text: String) -> HTTPResponse { .text("\(text)\n", status: status) }

    /// Field names and values go on the wire as they are, so what would end a line is taken out.
    static func wireSafe(_ text: String) -> String {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            ? text : String(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
    }
}
