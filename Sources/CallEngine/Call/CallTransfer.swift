// Transfers by REFER (RFC 3515, RFC 5589). We send the far side away, blind or after the target has answered (Replaces); or the far side
// asks us to call somebody in its place, which the bridge that it is in does (Bridge/BridgeTransfer.swift).

import Basics
import Reactor
import SIP

/// What the far side tells about a REFER of ours.
enum TransferEvent {
    case answered(status: Int, isQuiet: Bool)
    case progress(status: Int?, isLast: Bool)
}

extension Call {
    package func transfer(_ request: TransferRequest) async throws -> TransferResult {
        guard state == .answered else {
            throw CallControlError.wrongState(
                operation: "transfer", why: state.isEnded ? "the call has ended" : "the call is not answered")
        }
        guard transferEvents == nil else {
            throw CallControlError.wrongState(operation: "transfer", why: "another transfer is under way")
        }
        guard let target = try? URI(request.target), target.isSIP || target.scheme == .tel else {
            throw CallControlError.invalid(operation: "transfer", why: "\"\(request.target)\" is no sip: or tel: URI")
        }
        if request.isAttended { return try await transferAttended(request) }
        return try await refer(to: Array("<\(request.target)>".utf8), timeout: request.timeout)
    }

    /// Calls the target first, while the far side is on hold; a target that does not answer leaves everything as it was.
    private func transferAttended(_ request: TransferRequest) async throws -> TransferResult {
        try await hold(music: request.music)
        let leg: Call
        do throws(CallControlError) {
            leg = try shard.place(CallRequest(target: request.target, from: info.from.uri))
        } catch {
            try await unhold()
            throw error
        }
        // Replaced by the far side's call, or not wanted any more.
        defer { leg.hangUp(.normal) }
        switch try await leg.wait(for: .answered, timeout: request.timeout) {
        case .reached: break
        case .timedOut:
            try await unhold()
            return TransferResult(outcome: .noAnswer, status: leg.finalStatus)
        case .ended:
            try await unhold()
            return TransferResult(
                outcome: leg.finalStatus == 0 ? .unreachable : TransferResult.outcome(ofStatus: leg.finalStatus),
                status: leg.finalStatus)
        }
        guard let machine = leg.session?.machine, let dialog = machine.dialog else {
            return TransferResult(outcome: .unreachable, status: 0)
        }
        let result = try await refer(to: Referral.value(replacing: dialog, localTag: machine.localTag), timeout: request.timeout)
        if result.outcome != .transferred, !state.isEnded { try await unhold() }
        return result
    }

    private func refer(to value: [UInt8], timeout: Duration) async throws -> TransferResult {
        let events = Mailbox<TransferEvent>(loop: loop)
        transferEvents = events
        hasReferred = true
        defer { transferEvents = nil }
        var rows = MessageWriter(capacity: 160)
        rows.header("Refer-To", octets: value[...])
        if let local = session?.machine.dialog?.local {
            // The address without its tag.
            let end = local.firstIndex(of: UInt8(ascii: ">")).map { $0 + 1 } ?? local.endIndex
            rows.header("Referred-By", octets: local[..<end])
        }
        var isSent = false
        update { isSent = $0.send(.refer, headers: rows.octets, into: &$1) }
        guard isSent else { return TransferResult(outcome: .refused, status: 0) }
        let deadline = loop.now + timeout
        var last = 0
        while let event = try await events.next(until: deadline) {
            switch event {
            case .answered(let status, let isQuiet):
                guard (200..<300).contains(status) else { return TransferResult(outcome: .refused, status: status) }
                // No NOTIFY will come: that it was accepted is all that can be known.
                if isQuiet { return TransferResult(outcome: .transferred, status: status) }
            case .progress(let status, let isLast):
                last = status ?? last
                if last >= 200 { return TransferResult(outcome: TransferResult.outcome(ofStatus: last), status: last) }
                if isLast { return TransferResult(outcome: .unreachable, status: last) }
            }
        }
        return TransferResult(outcome: .noAnswer, status: last)
    }

    // MARK: What comes in

    /// A NOTIFY in the dialog: about our REFER, or 481.
    func notified(_ request: Message) -> Int {
        guard request.header(.event)?.lowercased().hasPrefix("refer") == true, hasReferred else { return 481 }
        transferEvents?.send(.progress(status: Referral.status(inFragment: request.body), isLast: Referral.isLast(request)))
        return 200
    }

    /// A REFER of the far side: taken when this call is in a bridge that may call the target, else declined (603).
    /// - Parameter dialog: of one that came outside of this call's.
    func referred(_ request: Message, by dialog: ReferralDialog? = nil) -> (status: Int, headers: [UInt8]) {
        guard let referral = try? Referral(request) else { return (400, []) }
        guard let onReferral, onReferral(referral) else { return (603, []) }
        isReferralQuiet = referral.isQuiet
        referralDialog = referral.isQuiet ? nil : dialog
        return (202, referral.isQuiet ? Array("Refer-Sub: false\r\n".utf8) : [])
    }

    /// A SUBSCRIBE in the dialog: the far side wants to hear of its transfer for longer, or no more (RFC 3515 section 2.4.4); of anything
    /// else there is nothing to hear (489).
    func subscribed(_ request: Message) -> (status: Int, headers: [UInt8]) {
        guard request.header(.event)?.lowercased().hasPrefix("refer") == true, onReferral != nil else {
            return (489, CallShard.eventRow)
        }
        let seconds = min(request.number(.expires) ?? 60, 60)
        if seconds == 0 { isReferralQuiet = true }
        return (200, Array("Expires: \(seconds)\r\n".utf8))
    }

    /// The transfer is over or will not be: a dialog of its own ends, whatever was told in it.
    func endReferral() {
        guard referralDialog != nil else { return }
        notifyReferrer(487, isLast: true)
    }

    /// Tells the far side how the call that it asked for goes.
    func notifyReferrer(_ status: Int, isLast: Bool) {
        if let referralDialog {
            referralDialog.notify(status, isLast: isLast)
            if isLast { self.referralDialog = nil }
            return
        }
        guard !state.isEnded, !isReferralQuiet else { return }
        let (rows, body) = Referral.notification(status, isLast: isLast)
        update { _ = $0.send(.notify, headers: rows, body: body, type: "message/sipfrag;version=2.0", into: &$1) }
    }
}
