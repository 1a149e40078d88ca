// When the trace of a call begins and ends.

import Basics
import Reactor
import SIP

extension CallShard {
    /// What passes is looked at only by who wants it. After tracing was changed, and when the last trace has ended.
    func observePassing() {
        let traces = traces.flatMap { $0.renew() ? $0 : nil }
        guard observer != nil || traces != nil else { return endpoint.onPassing = nil }
        endpoint.onPassing = { [observer] message in
            observer?(message)
            traces?.passed(message)
        }
    }

    /// Of a call that came in. Its INVITE has passed already.
    func beginTrace(of call: Call, _ invite: Message) {
        guard let traces, let settings = traces.settings else { return }
        let from = (try? invite.from().uri())?.user
        let traced = TracedCall(
            id: call.id, direction: .inbound, line: call.line?.name ?? "", from: from ?? "",
            to: (try? invite.requestURI())?.user ?? "")
        guard let trace = traces.tracing.begin(traced, settings, on: loop) else { return }
        call.trace = trace
        trace.add(
            TracedMessage(
                at: loop.now, direction: .received, transport: call.hop.transport, local: endpoint.localAddress(to: call.hop),
                remote: call.hop.address, bytes: invite.octets))
    }

    /// Of a call that is about to be placed. Its trace is found by its Call-ID once it has one.
    func beginTrace(of call: Call, _ target: OutgoingTarget, from: String?) {
        guard let traces, let settings = traces.settings else { return }
        let from = call.line.map { $0.from(from) } ?? from
        let traced = TracedCall(
            id: call.id, direction: .outbound, line: call.line?.name ?? "", from: Self.user(from ?? ""),
            to: target.uri.user)
        call.trace = traces.tracing.begin(traced, settings, on: loop)
    }

    /// The call has left.
    func endTrace(of call: Call) {
        guard let trace = call.trace, let traces else { return }
        call.trace = nil
        traces.left(trace, callID: call.session.map { Array($0.machine.callID) }, isLast: isClosed)
    }

    /// The user part of a URI; a number is its own.
    private static func user(_ text: String) -> String {
        guard let uri = try? URI(text) else { return text }
        return uri.user
    }
}
