// The traces of one loop's calls, found by their Call-ID.

import Basics
import Reactor
import SIP

/// Belongs to its loop.
final class ShardTraces {
    let tracing: CallTracing
    /// What calls get that begin from now on; nil: they are not traced.
    private(set) var settings: TraceSettings?
    /// The last trace has ended.
    var onIdle: (() -> Void)?
    private let loop: EventLoop
    private var traces: [[UInt8]: CallTrace] = [:]
    private var lingering: [[UInt8]: LoopTimer] = [:]
    /// How long a message stays in the network (T4): what a call that is over still gets is in its trace.
    private let linger: Duration

    init(_ tracing: CallTracing, loop: EventLoop, linger: Duration) {
        self.tracing = tracing
        self.loop = loop
        self.linger = linger
    }

    /// Takes what `tracing` says now; whether messages have to be looked at.
    func renew() -> Bool {
        settings = tracing.settings
        return !traces.isEmpty || settings != nil
    }

    func add(_ trace: CallTrace, callID: ArraySlice<UInt8>) { traces[Array(callID)] = trace }

    func passed(_ message: TracedMessage) {
        guard !traces.isEmpty, let parsed = try? Message(parsing: message.bytes), let trace = traces[Array(parsed.callID)] else {
            return
        }
        trace.add(message)
    }

    /// The call has left: it is followed for a little longer, unless the loop ends.
    func left(_ trace: CallTrace, callID: [UInt8]?, isLast: Bool) {
        guard let callID, !isLast else {
            if let callID { traces[callID] = nil }
            return trace.finish()
        }
        trace.settle()
        lingering[callID] = loop.schedule(after: linger) { [weak self] in
            trace.finish()
            guard let self else { return }
            lingering[callID] = nil
            traces[callID] = nil
            if traces.isEmpty { onIdle?() }
        }
    }

    /// What lingers ends now.
    func close() {
        for timer in lingering.values { timer.cancel() }
        lingering = [:]
        for trace in traces.values { trace.finish() }
        traces = [:]
    }
}
