// `request`: asks a web service. What comes back is a value, never expression text.

/// Sends a web request.
package struct RequestVerb: Verb {
    package static let name = "request"
    package static let needs = VerbNeed.nothing
    package static let outcomes = ["ok"]
    package static let example = """
        request:
          url: https://example.com/customers
          json: { from: "${call.from.user}" }
          timeout: 3s
          into: customer
          on: { failed: hangup }
        """

    private enum Body: Sendable {
        case none
        case json(FlowData)
        case form([(name: String, value: FlowText)])
        case text(FlowText)
    }

    private let url: FlowText
    private var method = "GET"
    private var headers: [(name: String, value: FlowText)] = []
    private var body = Body.none
    private var timeout: FlowLength?
    /// Asked in turn where the one before gives no answer that counts.
    private var fallbacks: [FlowText] = []
    private var retry = RequestRetry()
    private var filler: RequestFiller?

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            guard let url = step.flow.text(plain, "`request`") else { return nil }
            self.url = url
            return
        }
        guard step.argument != nil, let map = step.open() else {
            step.wrong("a URL or a mapping")
            return nil
        }
        guard let url = step.requiredText("url", mend: "url: https://example.com/path") else { return nil }
        self.url = url
        fallbacks = step.texts("fallback") ?? []
        for (name, url) in [("url", url)] + fallbacks.map({ ("fallback", $0) }) {
            if let text = url.constant, !text.hasPrefix("http://"), !text.hasPrefix("https://") {
                step.sink.error(at: url.place, "`\(name)` begins with http:// or https://")
            }
        }
        retry = RequestRetry(step, map)
        filler = map.node("filler").flatMap { RequestFiller($0, step) }
        let bodies = ["json", "form", "text"].filter { map.has($0) }
        if bodies.count > 1 {
            step.sink.error(at: map.place(of: bodies[1]), "`\(bodies[1])` stands beside `\(bodies[0])`", mend: "one body")
        }
        if let json = step.data("json") { body = .json(json) }
        if map.has("form") { body = .form(step.headers("form")) }
        if let text = step.text("text") { body = .text(text) }
        if let method = map.string("method") {
            let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
            self.method = method.uppercased()
            if !known.contains(self.method) {
                NodeRead.unknown("value", method, of: "`method`", at: map.place(of: "method"), known: known, step.sink)
            }
        } else if !bodies.isEmpty {
            method = "POST"
        }
        headers = step.headers("headers")
        timeout = step.length("timeout")
        map.notBuilt("sign", "hmac")
    }

    package var shape: StepShape { StepShape(takesTime: true) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        let services = try ([url] + fallbacks).map { try service($0, run) }
        guard let requester = run.environment.requester else { throw FlowError("request: web requests are not available here") }
        var request = WebRequest(method: method, url: "", timeout: try run.length(timeout, default: .seconds(10)))
        request.headers = try headers.map { ($0.name, try run.headerValue($0.value)) }
        try addBody(to: &request, run)
        let filling = try filler?.begin(run)
        defer { filling?.stop() }
        var (pauses, attempts) = (try retry.pauses(run), 0)
        var (last, shown) = (WebOutcome.failed(""), "")
        services: for service in services {
            request.url = service.address
            shown = service.shown
            pauses.restart()
            repeat {
                last = try await requester.perform(request, on: run.loop)
                attempts += 1
                run.emit(.requested(method: method, url: shown, status: last.status))
                guard last.isWorthAnotherTry else { break services }
            } while try await pauses.wait(run, after: "\(method) \(shown)", last)
        }
        switch last {
        case .failed(let reason): return failed(status: 0, reason, ValueMap(), shown, attempts, run)
        case .response(let response):
            var value = value(of: response)
            value["attempts"] = .int(Int64(attempts))
            guard (200..<400).contains(response.status) else {
                return failed(status: response.status, "the server answered \(response.status)", value, shown, attempts, run)
            }
            return StepResult(value: .map(value), outcome: "ok")
        }
    }

    /// A URL that may be asked, and how it is shown.
    private func service(_ text: FlowText, _ run: FlowRun) throws -> (address: String, shown: String) {
        let address = try run.headerValue(text)
        let shown = try run.shown(text)
        guard address.hasPrefix("http://") || address.hasPrefix("https://") else {
            throw FlowError("request: `\(shown)` begins with neither http:// nor https://")
        }
        if let reason = run.environment.refusesRequest(address) { throw FlowError("request: \(shown): \(reason)") }
        return (address, shown)
    }

    private func addBody(to request: inout WebRequest, _ run: FlowRun) throws {
        var type: String?
        switch body {
        case .none: break
        case .json(let data):
            request.body = Array(try run.value(data).json.utf8)
            type = "application/json"
        case .form(let pairs):
            request.body = Array(
                try pairs.map { "\(Self.escaped($0.name))=\(Self.escaped(try run.text($0.value)))" }.joined(separator: "&").utf8)
            type = "application/x-www-form-urlencoded"
        case .text(let text):
            request.body = Array(try run.text(text).utf8)
            type = "text/plain; charset=utf-8"
        }
        if let type, !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            request.headers.append(("Content-Type", type))
        }
    }

    private static func escaped(_ text: String) -> String {
        var output = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2A, 0x2D, 0x2E, 0x5F: output.append(Character(UnicodeScalar(byte)))
            case 0x20: output += "+"
            default: output += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return output
    }

    private func value(of response: WebResponse) -> ValueMap {
        var map = ValueMap()
        map["status"] = .int(Int64(response.status))
        map["ok"] = .bool((200..<300).contains(response.status))
        map["type"] = .string(response.contentType)
        map["text"] = .string(String(decoding: response.body, as: UTF8.self))
        map["json"] = .null
        if !response.body.isEmpty, let json = try? Value.fromJSON(response.body) { map["json"] = json }
        map["error"] = ""
        return map
    }

    /// A service that is down does not end a call: it is an outcome, said in the log when nobody handles it.
    private func failed(
        status: Int, _ reason: String, _ map: ValueMap, _ shown: String, _ attempts: Int, _ run: FlowRun
    ) -> StepResult {
        var map = map
        map["attempts"] = .int(Int64(attempts))
        map["status"] = .int(Int64(status))
        map["ok"] = false
        map["error"] = .string(reason)
        run.emit(.warning("request: \(method) \(shown): \(reason)", at: run.currentPlace))
        return StepResult(value: .map(map), outcome: "failed")
    }
}
