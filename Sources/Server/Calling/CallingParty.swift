// An engine that only places calls: what `call` and the calling side of `demo` are made of. Used from a thread that is none of its loops.

import Basics
package import CallEngine
package import FlowEngine
import Reactor
import Web

/// Places calls on one loop, each with a flow.
package final class CallingParty: Sendable {
    /// What one call is asked to do.
    package struct Order: Sendable {
        package var request: CallRequest
        package var flow: Flow
        package var arguments: [String: Value]
        /// `campaign` and `target` of expressions.
        package var campaign = Value.null
        package var target = Value.null
        /// Hangs up this long after the answer.
        package var duration: Duration?
        /// Both sides are recorded here, stereo, from the first audio on.
        package var recording: RecordingRequest?

        package init(
            request: CallRequest, flow: Flow, arguments: [String: Value] = [:], duration: Duration? = nil,
            recording: RecordingRequest? = nil
        ) {
            self.request = request
            self.flow = flow
            self.arguments = arguments
            self.duration = duration
            self.recording = recording
        }
    }

    /// What came of it.
    package struct Report: Sendable {
        package var result: CallResult
        /// The Call-ID of its messages; empty when none was sent.
        package var callID: String
        package var recording: RecordingResult?
    }

    private let configuration: Configuration
    let calling: CallingEngine
    private let client: HTTPClient
    let supplier: PromptSupplier
    private var engine: Engine { calling.engine }
    /// How many loops there are.
    package var loopCount: Int { calling.loops.count }

    /// - Parameters:
    ///   - listen: where answers and requests of the peers come to; port 0 lets the system choose.
    ///   - loopCount: threads for calls.
    ///   - webSockets: targets may be reached by WebSockets, whether lines use them or not.
    ///   - trace: hears every message.
    ///   - tracing: how calls are traced, and who hears what became of it; nil: they are not.
    package init(
        _ configuration: Configuration, listen: [EngineSettings.Listener], loopCount: Int = 1, webSockets: Bool = false,
        calls: Int? = nil, trace: (@Sendable (TracedMessage) -> Void)? = nil,
        tracing: (settings: TraceSettings, onEvent: @Sendable (TraceEvent) -> Void)? = nil
    ) throws(CommandFailure) {
        self.configuration = configuration
        var settings = configuration.engineSettings
        settings.listeners = listen
        settings.opensWebSockets = webSockets
        if let calls { settings.limits.calls = calls }
        client = HTTPClient()
        supplier = try PromptSupplier.forCommand(configuration, client: client)
        calling = try CallingEngine(
            configuration, settings, loopCount: loopCount, trace: trace, tracing: tracing, supply: supplier)
    }

    /// Places a call and waits for its end, its flow's `always:` included. Cancelling the task hangs up, and the result says so.
    /// - Parameters:
    ///   - observers: made on the call's loop; they hear what the flow does.
    ///   - onState: on the call's loop.
    ///   - index: which of the loops.
    package func place(
        _ order: Order, on index: Int = 0, observers: @escaping @Sendable (Call) -> [any FlowObserver] = { _ in [] },
        onState: @escaping @Sendable (Call, CallState) -> Void = { _, _ in }
    ) async throws(CommandFailure) -> Report {
        let hangUp = Locked<(@Sendable () -> Void)?>(nil)
        let report: Result<Report, CommandFailure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                engine.withShard(index % calling.loops.count) { [self] shard in
                    do throws(CallControlError) {
                        var request = order.request
                        request.codecs = order.flow.codecs
                        let call = try shard.place(request)
                        let bound = LoopBound(call, on: shard.loop)
                        hangUp.withLock { $0 = { bound.run { $0.hangUp(HangUpReason(cause: .cancelled)) } } }
                        start(order, call, observers(call), onState) { continuation.resume(returning: .success($0)) }
                    } catch {
                        continuation.resume(returning: .failure(CommandFailure(.wrong, Self.words(error))))
                    }
                }
            }
        } onCancel: {
            hangUp.withLock { $0 }?()
        }
        var done = try report.get()
        if Task.isCancelled {
            done.result.wasInterrupted = true
            if done.result.end.detail.isEmpty { done.result.end.detail = "interrupted" }
        }
        return done
    }

    private func start(
        _ order: Order, _ call: Call, _ observers: [any FlowObserver], _ onState: @escaping @Sendable (Call, CallState) -> Void,
        then: @escaping (Report) -> Void
    ) {
        var recording: Recording?
        call.onStateChange = { [unowned call] state in
            if state == .answered || state == .early, recording == nil, let request = order.recording {
                recording = try? call.record(request)
            }
            if state == .answered, let duration = order.duration {
                call.loop.schedule(after: duration) { [weak call] in call?.hangUp(.normal) }
            }
            onState(call, state)
        }
        var environment = environment(order.arguments)
        environment.observers = observers
        environment.campaign = order.campaign
        environment.target = order.target
        let run = FlowRun(flow: order.flow, call: call, environment: environment)
        call.loop.spawn {
            let outcome = await run.run()
            let end = outcome.end ?? CallEnd(by: .engine, cause: .error, detail: "the end was not told")
            let result = CallResult(
                info: call.info, end: end, target: order.request.target, outcome: outcome, digitsReceived: call.digits.history)
            let callID = call.sipCallID ?? ""
            guard let recording else { return then(Report(result: result, callID: callID)) }
            recording.onEnd = { then(Report(result: result, callID: callID, recording: $0)) }
            recording.stop()
        }
    }

    /// What a flow of these calls gets. On the call's loop.
    func environment(_ arguments: [String: Value]) -> FlowEnvironment {
        configuration.flowEnvironment(arguments: arguments, requester: FlowRequester(client: client))
    }

    static func words(_ error: CallControlError) -> String {
        switch error {
        case .wrongState(_, let why), .invalid(_, let why): why
        case .noMedia: "there is no audio"
        case .refused(_, let status, let warning): "the other side refused: \(status)" + (warning.isEmpty ? "" : " (\(warning))")
        }
    }

    /// Waits for the answers to what was said last, two seconds at most, and ends what is left and every thread. Once, and not from a
    /// loop.
    package func close() {
        engine.settle(within: .seconds(2))
        calling.close()
        client.stopAndWait()
        supplier.stop()
    }
}
