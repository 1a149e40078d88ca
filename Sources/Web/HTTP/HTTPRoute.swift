// Which handler answers which method and path, and on which loop it runs.
package import Reactor

/// A handler of the server. It runs on its route's loop; the connection's end cancels it.
package struct HTTPRoute: Sendable {
    let method: HTTPMethod
    let pattern: PathPattern
    let loop: EventLoop
    let handler: LoopBound<(HTTPRequest) async -> HTTPResponse>

    /// - Parameters:
    ///   - path: `/calls/{id}`: a segment in braces stands for any one segment, `/files/*` at the end for any rest (as parameter `*`).
    ///   - loop: where `handler` runs; it may touch that loop's objects.
    package init(
        _ method: HTTPMethod, _ path: String, on loop: EventLoop,
        handler: @escaping (HTTPRequest) async -> HTTPResponse
    ) {
        self.method = method
        pattern = PathPattern(path)
        self.loop = loop
        self.handler = LoopBound(handler, on: loop)
    }
}

/// A path with holes.
struct PathPattern: Sendable, Equatable {
    private let segments: [Substring]

    init(_ path: String) {
        precondition(path.hasPrefix("/"), "a route begins with /")
        segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    }

    /// What the holes stand for, or nil when the path is another one.
    func match(_ path: String) -> [String: String]? {
        guard path.hasPrefix("/") else { return nil }
        let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var found: [String: String] = [:]
        for (index, segment) in segments.enumerated() {
            if segment == "*", index == segments.count - 1 {
                found["*"] = parts.dropFirst(index).joined(separator: "/")
                return parts.count > index ? found : nil
            }
            guard index < parts.count else { return nil }
            if segment.hasPrefix("{"), segment.hasSuffix("}") {
                guard !parts[index].isEmpty else { return nil }
                found[String(segment.dropFirst().dropLast())] = String(parts[index])
            } else if segment != parts[index] {
                return nil
            }
        }
        return parts.count == segments.count ? found : nil
    }
}

/// The routes of a listener.
struct HTTPRouter: Sendable {
    enum Answer {
        case route(HTTPRoute, parameters: [String: String])
        /// The path exists, the method does not: the value of Allow.
        case notAllowed(String)
        case notFound
    }

    let routes: [HTTPRoute]

    /// HEAD is answered by GET's handler; the server leaves the body out. RFC 9110, section 9.3.2.
    func find(_ method: HTTPMethod, _ path: String) -> Answer {
        var allowed: Set<HTTPMethod> = []
        for route in routes {
            guard let parameters = route.pattern.match(path) else { continue }
            if route.method == method || method == .head && route.method == .get {
                return .route(route, parameters: parameters)
            }
            allowed.insert(route.method)
            if route.method == .get { allowed.insert(.head) }
        }
        guard !allowed.isEmpty else { return .notFound }
        return .notAllowed(HTTPMethod.allCases.filter(allowed.contains).map(\.rawValue).joined(separator: ", "))
    }
}
