// One run of a request's handler on its loop, as the web thread sees it.
import Reactor

/// `@unchecked Sendable`: `task` and `isCancelled` are touched on the loop only, the rest is constant.
final class HandlerRun: @unchecked Sendable {
    let id: UInt64
    private let route: HTTPRoute
    private var task: LoopTask?
    private var isCancelled = false

    init(id: UInt64, route: HTTPRoute) {
        self.id = id
        self.route = route
    }

    /// Starts the handler; `answer` is called on the loop unless the run was cancelled before it began.
    func start(_ request: HTTPRequest, answer: @escaping @Sendable (HTTPResponse) -> Void) {
        let loop = route.loop
        route.handler.execute { handler in
            guard !self.isCancelled else { return }
            self.task = loop.spawn {
                let response = await handler(request)
                self.task = nil
                answer(response)
            }
        }
    }

    /// From the web thread. A run that is over is not touched.
    func cancel() {
        route.loop.execute {
            self.isCancelled = true
            self.task?.cancel()
            self.task = nil
        }
    }
}
