// The one who was called transfers the caller to somebody else (REFER, RFC 5589): while the new target rings the caller hears
// ringback; when it answers the two are connected and the referrer is let go; when it does not, the referrer has the caller back.

import Basics
import Reactor
import SIP

extension Bridge {
    /// Lets the leg ask for a transfer, one at a time, to targets that the flow may call.
    func listenForReferral(of leg: Call) {
        leg.onReferral = { [unowned self, unowned leg] referral in
            guard !isTransferring, presser == nil, request.mayTransfer(referral.target) else { return false }
            isTransferring = true
            referrer = leg
            events.send(.referred(leg, referral))
            return true
        }
    }

    /// The leg that takes the referrer's place; nil when the caller stays with the referrer, or, when that left meanwhile, alone.
    func transfer(from referrer: Call, to referral: Referral) async throws(CancellationError) -> (call: Call, target: String)? {
        defer {
            isTransferring = false
            self.referrer = nil
            referrer.endReferral()
        }
        referrer.notifyReferrer(100, isLast: false)
        caller.media?.disconnect()
        heard = nil
        startRingback()
        let headers = referral.replaces.map { [CallHeader(name: "Replaces", value: $0)] } ?? []
        guard call(Candidate(target: referral.target), more: headers) == nil, let next = legs.last?.call else {
            return giveBack(to: referrer, status: 503)
        }
        let deadline = caller.loop.now + request.timeout
        while !isTimeUp, !isLeft, let event = try await events.next(until: deadline) {
            switch event {
            case .progressed(let leg) where leg === next:
                guard leg.state == .answered else {
                    referrer.notifyReferrer(180, isLast: false)
                    continue
                }
                stopRingback()
                if let mine = caller.media, let theirs = next.media { mine.connect(to: theirs) }
                heard = next
                referrer.notifyReferrer(200, isLast: true)
                release(referrer)
                return (next, referral.target)
            case .ended(let leg, _) where leg === next:
                legs.removeAll { $0.call === next }
                return giveBack(to: referrer, status: next.finalStatus >= 300 ? next.finalStatus : 503)
            case .ended(let leg, _) where leg === referrer: legs.removeAll { $0.call === referrer }
            // Begun in the moment in which the transfer was asked for.
            case .asideEnded(let call, let verdict): asideEnded(on: call, verdict)
            default: continue
            }
        }
        dismiss(next, HangUpReason(cause: .cancelled))
        return giveBack(to: referrer, status: isTimeUp || isLeft ? 487 : 408)
    }

    private func giveBack(to referrer: Call, status: Int) -> (call: Call, target: String)? {
        stopRingback()
        referrer.notifyReferrer(status, isLast: true)
        if !referrer.state.isEnded, let mine = caller.media, let theirs = referrer.media {
            mine.connect(to: theirs)
            heard = referrer
        }
        return nil
    }

    /// The referrer hangs up by itself (RFC 5589 section 6.1); one that forgets to is hung up after two seconds.
    private func release(_ referrer: Call) {
        stopFollowing(referrer)
        legs.removeAll { $0.call === referrer }
        referrer.onStateChange = nil
        referrer.onEnd = nil
        referrer.onReferral = nil
        referrer.loop.schedule(after: .seconds(2)) { [weak referrer] in referrer?.hangUp(.normal) }
    }
}
