// What an HTTP client asks and gets, as values.

import Basics

/// A request of the HTTP client.
package struct HTTPCall: Sendable {
    /// A token (`GET`, `POST`, …), sent as it is.
    package var method: String
    /// `http` or `https`.
    package var url: String
    package var headers: HTTPFields
    /// Nil: none. An empty one is sent as a body of length 0.
    package var body: [UInt8]?
    /// From the start to the connection, look-up and TLS included.
    package var connectTimeout: Duration = .seconds(5)
    /// From the start to the last byte; waiting in the client's queue is part of it.
    package var timeout: Duration = .seconds(30)
    /// Bytes of the response's body; beyond it the call fails with `tooLarge`.
    package var maximumBytes = 8 << 20
    /// Where the response's body takes its room; beyond it the call fails with `overloaded`. Whoever keeps the body holds the share as long.
    package var share: BodyShare?
    /// Redirects followed; 0 gives the redirect itself as response. Never to another scheme than http and https; credentials in
    /// `headers` (Authorization, Cookie) are not sent to another host.
    package var redirects = 0
    package var trust = TLSTrust.system

    package init(_ method: String = "GET", _ url: String, headers: HTTPFields = [:], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// A response that came whole.
package struct HTTPReply: Sendable, Hashable {
    package var status: Int
    /// Of the last response when redirects were followed.
    package var headers: HTTPFields
    package var body: [UInt8]
    /// Whether the response said where its body ends (RFC 9112 section 6.3). Otherwise the end of the connection ended it, and what may be
    /// missing is not known.
    package var isEndTold: Bool
    /// Where a redirect that was not followed leads, as an absolute URL; nil for other responses.
    package var redirect: String?
    package var timing: HTTPTiming
}

/// Where the time went, each counted from the start of the transfer.
package struct HTTPTiming: Sendable, Hashable {
    package var resolved: Duration
    package var connected: Duration
    /// Zero without TLS.
    package var secured: Duration
    package var firstByte: Duration
    package var total: Duration
}

/// Why there is no reply. `text` never holds user names, passwords or queries of the URL.
package struct HTTPFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Reason: String, Hashable, Sendable, CaseIterable {
        /// Not an http or https URL, a method or field that can't be sent, or a redirect to another scheme.
        case badRequest
        case dns
        case connect
        case tls
        case timeout
        case tooLarge
        case tooManyRedirects
        /// The peer closed, or did not speak HTTP.
        case broken
        case cancelled
        /// The client's queue is full.
        case overloaded
        /// The client is stopped.
        case stopped
    }

    package var reason: Reason
    package var text: String
    /// `text` without the URL.
    let words: String

    package var description: String { text }

    init(_ reason: Reason, _ url: String, _ words: String) {
        self.reason = reason
        self.words = words
        text = "\(WebAddress.withoutSecrets(url)): \(words)"
    }
}
