// What a flow gets from its surroundings: folders, web requests, permissions, observers. Everything is a protocol or a closure, so
// that the flow engine needs neither audio files nor a network.

package import CallEngine
package import Reactor

/// What is known about a prompt file.
package enum PromptInfo: Equatable, Sendable {
    /// It can be played; nil when nobody knows how long.
    case playable(Duration?)
    case missing
    /// It is there and cannot be played; why.
    case unreadable(String)
}

/// Looks at prompt files before they are played: for `check` and for the test bench.
package protocol PromptInspector: Sendable {
    func inspect(path: String) -> PromptInfo
}

/// A request to a web service.
package struct WebRequest: Equatable, Sendable {
    package var method: String
    package var url: String
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    package var timeout: Duration

    package init(
        method: String, url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        timeout: Duration = .seconds(10)
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }

    package static func == (left: WebRequest, right: WebRequest) -> Bool {
        left.method == right.method && left.url == right.url && left.body == right.body && left.timeout == right.timeout
            && left.headers.map(\.name) == right.headers.map(\.name) && left.headers.map(\.value) == right.headers.map(\.value)
    }
}

package struct WebResponse: Equatable, Sendable {
    package var status: Int
    /// `Content-Type`; empty without one.
    package var contentType: String
    package var body: [UInt8]

    package init(status: Int, contentType: String = "", body: [UInt8] = []) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }
}

package enum WebOutcome: Equatable, Sendable {
    case response(WebResponse)
    /// No answer: why, for the log.
    case failed(String)
}

/// Sends web requests for `request`; the one who composes the server has one.
package protocol WebRequester: AnyObject {
    /// Runs on `loop`, which is the call's; returns when the answer is whole. Throws when the task is cancelled.
    func perform(_ request: WebRequest, on loop: EventLoop) async throws(CancellationError) -> WebOutcome
}

/// The surroundings of a run.
package struct FlowEnvironment {
    /// Environment variables that expressions may read: only those which the configuration lists.
    package var variables: [String: String] = [:]
    /// Values that replace those of `vars:` (`--var`, a route's `vars`).
    package var arguments: [String: Value] = [:]
    package var campaign: Value = .null
    package var target: Value = .null
    /// Where `record` writes; nothing outside it.
    package var recordingsFolder = "recordings"
    package var requester: (any WebRequester)?
    /// The configuration's `allow`: nil is allowed, a text says why not.
    package var refusesBridge: (String) -> String? = { _ in nil }
    package var refusesRequest: (String) -> String? = { _ in nil }
    package var observers: [any FlowObserver] = []

    package init() {}
}

/// Hears what a flow does. Called on the call's loop, in the turn in which it happens. Secrets are masked.
package protocol FlowObserver: AnyObject {
    func flow(_ run: FlowRun, did event: FlowEvent)
}

package enum FlowEvent: Equatable, Sendable {
    case section(String)
    case stepBegan(verb: String, at: SourcePlace)
    /// The outcome, when the step had one.
    case stepEnded(verb: String, outcome: String?, at: SourcePlace)
    /// Names as the flow wrote them.
    case promptBegan([String])
    case promptEnded([String], PromptEnd)
    /// The end of a `collect`; the digits are `***` when they are secret.
    case collected(digits: String, reason: String)
    case digitsSent(String)
    case bridging([String])
    case bridged(target: String, outcome: String, status: Int)
    case transferred(target: String, outcome: String, status: Int)
    /// `to` is empty for the far side of the call.
    case messageSent(to: String, text: String, outcome: String, status: Int)
    case infoSent(body: String, outcome: String, status: Int)
    /// So many are in the room, this call included.
    case conferenceJoined(room: String, members: Int)
    case conferenceLeft(room: String, outcome: String, members: Int)
    /// This call is the active speaker, or is it no more.
    case conferenceSpeaking(room: String, Bool)
    case recordingBegan(path: String)
    /// The problem: why the recording is not complete; nil when it is.
    case recorded(path: String, length: Duration, problem: String?)
    case requested(method: String, url: String, status: Int)
    case quality(QualityEvent)
    case log(String)
    case warning(String, at: SourcePlace?)
    case tag(name: String, value: String)
    case expectation(Expectation)
    case failed(String, at: SourcePlace?)
    case ended(FlowOutcome.Result)

    package enum PromptEnd: Equatable, Sendable {
        case finished
        case stopped
        case failed(String)
    }
}

/// A verdict of `expect`.
package struct Expectation: Equatable, Sendable {
    package var name: String
    package var passed: Bool
    /// What was there, in words: "after 312 ms".
    package var actual: String

    package init(name: String, passed: Bool, actual: String) {
        self.name = name
        self.passed = passed
        self.actual = actual
    }
}
