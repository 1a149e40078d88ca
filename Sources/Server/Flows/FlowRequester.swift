// The web requests of flows, over the HTTP client.

package import FlowEngine
package import Reactor
package import Web

package final class FlowRequester: WebRequester {
    private let client: HTTPClient

    package init(client: HTTPClient) {
        self.client = client
    }

    /// Redirects are not followed: `allow.request` was asked about this URL and no other.
    package func perform(_ request: WebRequest, on loop: EventLoop) async throws(CancellationError) -> WebOutcome {
        var call = HTTPCall(
            request.method, request.url, headers: HTTPFields(request.headers.map { HTTPField($0.name, $0.value) }),
            body: request.body.isEmpty ? nil : request.body)
        call.timeout = request.timeout
        call.connectTimeout = min(call.connectTimeout, request.timeout)
        call.maximumBytes = 1 << 20
        switch await client.fetch(call, on: loop) {
        case .success(let reply):
            return .response(
                WebResponse(status: reply.status, contentType: reply.headers["content-type"] ?? "", body: reply.body))
        case .failure(let failure):
            if failure.reason == .cancelled { throw CancellationError() }
            return .failed(failure.text)
        }
    }
}
