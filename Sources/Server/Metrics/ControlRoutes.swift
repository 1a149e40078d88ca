// What `control.listen` answers: health for balancers, metrics for Prometheus.

package import Basics
package import Reactor
package import Web

package enum ControlRoutes {
    /// A listener with /healthz and /metrics.
    /// - Parameters:
    ///   - loop: where `figures` runs; it may touch that loop's objects.
    package static func listener(
        at address: SocketAddress, on loop: EventLoop, figures: @escaping () -> ServerFigures
    ) -> WebListener {
        WebListener(
            address,
            routes: [
                HTTPRoute(.get, "/healthz", on: loop) { _ in
                    let health = figures().health
                    return HTTPResponse(
                        status: health.status, headers: ["content-type": "application/json", "cache-control": "no-store"],
                        body: Array(health.body.utf8))
                },
                HTTPRoute(.get, "/metrics", on: loop) { _ in
                    HTTPResponse(headers: ["content-type": MetricsText.contentType], body: Array(figures().metrics.utf8))
                }
            ])
    }

    /// Why the listener did not start, for the one who started the program.
    package static func failure(_ error: WebStartError) -> CommandFailure {
        switch error {
        case .cannotListen(let address, let reason):
            CommandFailure(
                .unable, "health and metrics cannot listen on \(address): \(reason)",
                mend: "choose another address with --http or control.listen, or --http off")
        default: CommandFailure(.unable, "the web thread did not start: \(error)")
        }
    }
}
