// `codecs` of a flow: of a call that comes in they are chosen as the flow begins, before anything was answered. A call that goes out has
// them in its INVITE already.

import CallEngine

extension FlowRun {
    /// false: the caller has none of them, and the call is refused.
    func chooseCodecs() -> Bool {
        guard let codecs = flow.codecs, call.direction == .inbound, call.state == .new || call.state == .ringing else {
            return true
        }
        do throws(CallControlError) {
            try call.choose(codecs: codecs)
            return true
        } catch {
            emit(.warning(error.words, at: nil))
            hangUp(HangUpReason(status: 488, detail: error.words))
            return false
        }
    }
}
